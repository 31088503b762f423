// WebSocket: the server's end of RFC 6455 over bytes: messages out of frames, frames out of messages. No extensions.
//
// Bounded: a message of more than kMessageMax is a fault. Not thread-safe. Pure but for what it calls.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace sublet::net {

/// Sec-WebSocket-Accept for a Sec-WebSocket-Key.
std::string websocket_accept(std::string_view key);

class WebSocket {
 public:
  struct Calls {
    std::function<void(std::string_view message)> message;
    std::function<void(std::string bytes)> send;
    /// The peer closed, or spoke something else: nothing more comes.
    std::function<void()> over;
  };
  explicit WebSocket(Calls calls) : calls_(std::move(calls)) {}
  void put(std::string_view bytes);
  /// A binary message, or a text.
  void send(std::string_view message);
  void send_text(std::string_view text);
  /// The closing handshake's first half, with "normal closure". Nothing is sent after it.
  void close();

  static constexpr std::size_t kMessageMax = 4 * 1024 * 1024;

 private:
  enum class Opcode : unsigned char { continuation = 0, text = 1, binary = 2, close = 8, ping = 9, pong = 10 };
  bool take_frame();
  void on_frame(Opcode opcode, bool final, const std::string& payload);
  void send_frame(Opcode opcode, std::string_view payload);
  void end();

  const Calls calls_;
  std::string in_, message_;
  bool in_message_ = false, closed_ = false, over_ = false;
};

}  // namespace sublet::net
