#include "sublet/net/websocket.h"

#include <openssl/evp.h>

#include <utility>

namespace sublet::net {
namespace {

constexpr std::string_view kGuid = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
constexpr unsigned char kFinal = 0x80, kMasked = 0x80;
constexpr std::size_t kMaskSize = 4, kControlMax = 125;
constexpr std::string_view kNormalClosure("\x03\xe8", 2);  // 1000

unsigned char byte_at(std::string_view text, std::size_t at) { return static_cast<unsigned char>(text[at]); }

}  // namespace

std::string websocket_accept(std::string_view key) {
  const std::string text = std::string(key) + std::string(kGuid);
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  EVP_Digest(text.data(), text.size(), digest, &size, EVP_sha1(), nullptr);
  unsigned char encoded[64];
  const int length = EVP_EncodeBlock(encoded, digest, static_cast<int>(size));
  return {reinterpret_cast<const char*>(encoded), static_cast<std::size_t>(length)};
}

void WebSocket::put(std::string_view bytes) {
  if (over_) return;
  in_.append(bytes);
  while (!over_ && take_frame()) {
  }
}

/// False when more bytes are needed.
bool WebSocket::take_frame() {
  const std::string_view in = in_;
  if (in.size() < 2) return false;
  const bool masked = (byte_at(in, 1) & kMasked) != 0;
  std::size_t size = byte_at(in, 1) & 0x7f, at = 2;
  const std::size_t wide = size == 126 ? 2 : size == 127 ? 8 : 0;
  if (in.size() < at + wide) return false;
  if (wide > 0) size = 0;
  for (std::size_t i = 0; i < wide; ++i) {
    if (size > kMessageMax) break;
    size = size << 8 | byte_at(in, at + i);
  }
  at += wide;
  const auto opcode = static_cast<Opcode>(byte_at(in, 0) & 0x0f);
  const bool control = opcode >= Opcode::close;
  // A client masks (RFC 6455 5.1); bits of extensions that were not negotiated are an error.
  if (!masked || (byte_at(in, 0) & 0x70) != 0 || size > kMessageMax || (control && size > kControlMax))
    return end(), false;
  if (in.size() < at + kMaskSize + size) return false;
  std::string payload(in.substr(at + kMaskSize, size));
  for (std::size_t i = 0; i < size; ++i)
    payload[i] = static_cast<char>(byte_at(payload, i) ^ byte_at(in, at + i % kMaskSize));
  const bool final = (byte_at(in, 0) & kFinal) != 0;
  in_.erase(0, at + kMaskSize + size);
  on_frame(opcode, final, payload);
  return true;
}

void WebSocket::on_frame(Opcode opcode, bool final, const std::string& payload) {
  switch (opcode) {
    case Opcode::ping:
      return send_frame(Opcode::pong, payload);
    case Opcode::pong:
      return;
    case Opcode::close:
      close();
      return end();
    case Opcode::continuation:
    case Opcode::text:
    case Opcode::binary:
      break;
    default:
      return end();
  }
  if (in_message_ != (opcode == Opcode::continuation) || message_.size() + payload.size() > kMessageMax) return end();
  in_message_ = !final;
  message_ += payload;
  if (final) calls_.message(std::exchange(message_, {}));
}

void WebSocket::send(std::string_view message) {
  if (!closed_) send_frame(Opcode::binary, message);
}

void WebSocket::send_text(std::string_view text) {
  if (!closed_) send_frame(Opcode::text, text);
}

void WebSocket::close() {
  if (!std::exchange(closed_, true)) send_frame(Opcode::close, kNormalClosure);
}

void WebSocket::send_frame(Opcode opcode, std::string_view payload) {
  std::string frame;
  frame += static_cast<char>(kFinal | static_cast<unsigned char>(opcode));
  if (payload.size() < 126) {
    frame += static_cast<char>(payload.size());
  } else {
    const int wide = payload.size() < 65536 ? 2 : 8;
    frame += static_cast<char>(wide == 2 ? 126 : 127);
    for (int i = wide - 1; i >= 0; --i) frame += static_cast<char>(payload.size() >> (8 * i) & 0xff);
  }
  calls_.send(frame.append(payload));
}

void WebSocket::end() {
  if (!std::exchange(over_, true)) calls_.over();
}

}  // namespace sublet::net
