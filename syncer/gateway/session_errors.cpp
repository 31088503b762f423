#include "syncer/gateway/session_errors.h"

#include <algorithm>
#include <utility>

namespace sublet::syncer {
namespace {

constexpr unsigned char kFinal = 0x80, kReserved = 0x70, kOpcode = 0x0f, kControl = 0x08, kMasked = 0x80;
constexpr char kErrorChannel = 3;

unsigned char byte(std::string_view text, std::size_t at) { return static_cast<unsigned char>(text[at]); }

// How long the head of a frame is; 2 until that is known.
std::size_t head_size(std::string_view head) {
  if (head.size() < 2) return 2;
  const int length = byte(head, 1) & 0x7f;
  return length == 127 ? 10 : length == 126 ? 4 : 2;
}

std::uint64_t payload_size(std::string_view head) {
  std::uint64_t size = byte(head, 1) & 0x7f;
  if (size < 126) return size;
  size = 0;
  for (std::size_t at = 2; at < head.size(); ++at) size = size << 8 | byte(head, at);
  return size;
}

std::string frame_of(unsigned char opcode, std::string_view payload) {
  std::string out(1, static_cast<char>(kFinal | opcode));
  const int bytes = payload.size() < 126 ? 0 : payload.size() <= 0xffff ? 2 : 8;
  out += static_cast<char>(bytes == 0 ? payload.size() : bytes == 2 ? 126 : 127);
  for (int at = bytes - 1; at >= 0; --at) out += static_cast<char>(payload.size() >> (8 * at) & 0xff);
  return out.append(payload);
}

class TranslatingDuplex final : public net::Duplex {
 public:
  TranslatingDuplex(std::shared_ptr<net::Duplex> host, SessionErrors::Translate translate)
      : host_(std::move(host)), translate_(std::move(translate)) {}
  void start(std::shared_ptr<Observer> observer) override {
    host_->start(std::make_shared<Listener>(std::move(observer), translate_));
  }
  void write(std::string bytes) override { host_->write(std::move(bytes)); }
  void end() override { host_->end(); }
  void close() override { host_->close(); }
  void pause(bool paused) override { host_->pause(paused); }
  std::size_t backlog() const override { return host_->backlog(); }
  const std::shared_ptr<net::Courier>& courier() const override { return host_->courier(); }

 private:
  class Listener final : public Observer {
   public:
    Listener(std::shared_ptr<Observer> observer, const SessionErrors::Translate& translate)
        : observer_(std::move(observer)), errors_(translate) {}
    void on_bytes(std::string_view bytes) override {
      if (const std::string translated = errors_.pass(bytes); !translated.empty()) observer_->on_bytes(translated);
    }
    void on_drain() override { observer_->on_drain(); }
    void on_end() override { observer_->on_end(); }
    void on_over() override { observer_->on_over(); }

   private:
    const std::shared_ptr<Observer> observer_;
    SessionErrors errors_;
  };
  const std::shared_ptr<net::Duplex> host_;
  const SessionErrors::Translate translate_;
};

}  // namespace

std::string SessionErrors::pass(std::string_view bytes) {
  std::string out;
  while (!bytes.empty() && !given_up_) bytes = in_frame_ ? take_payload(bytes, out) : begin_frame(bytes, out);
  return out.append(bytes);
}

std::string_view SessionErrors::begin_frame(std::string_view bytes, std::string& out) {
  while (!bytes.empty() && head_.size() < head_size(head_)) {
    head_ += bytes.front();
    bytes.remove_prefix(1);
  }
  if (head_.size() < head_size(head_)) return bytes;
  const unsigned char first = byte(head_, 0);
  if ((first & kReserved) != 0 || (byte(head_, 1) & kMasked) != 0) {
    given_up_ = true;
    out += head_;
    return bytes;
  }
  in_frame_ = true;
  final_ = (first & kFinal) != 0;
  control_ = (first & kControl) != 0;
  left_ = payload_size(head_);
  undecided_ = !control_ && (first & kOpcode) != 0;  // the first byte of a message says its channel
  if (undecided_) {
    opcode_ = first & kOpcode;
    error_ = false;
  } else if (control_ || !error_) {
    out += head_;
  }
  if (left_ == 0) end_frame(out);
  return bytes;
}

std::string_view SessionErrors::take_payload(std::string_view bytes, std::string& out) {
  if (std::exchange(undecided_, false)) {
    error_ = bytes.front() == kErrorChannel;
    if (!error_) out += head_;
  }
  const std::string_view part = bytes.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size())));
  if (control_ || !error_)
    out += part;
  else
    message_ += part.substr(0, kErrorMax - std::min(kErrorMax, message_.size()));
  left_ -= part.size();
  if (left_ == 0) end_frame(out);
  return bytes.substr(part.size());
}

void SessionErrors::end_frame(std::string& out) {
  if (std::exchange(undecided_, false)) out += head_;  // an empty one
  in_frame_ = false;
  head_.clear();
  if (control_ || !final_ || !error_) return;
  out += frame_of(opcode_, std::string(1, kErrorChannel) + translate_(std::string_view(message_).substr(1)));
  message_.clear();
  error_ = false;
}

bool has_error_channel(std::string_view subresource, std::string_view websocket_protocol) {
  return (subresource == "exec" || subresource == "attach") && websocket_protocol.ends_with("channel.k8s.io") &&
         !websocket_protocol.starts_with("base64.") && websocket_protocol.find(".base64.") == std::string_view::npos;
}

std::shared_ptr<net::Duplex> with_errors_translated(std::shared_ptr<net::Duplex> host,
                                                    SessionErrors::Translate translate) {
  return std::make_shared<TranslatingDuplex>(std::move(host), std::move(translate));
}

}  // namespace sublet::syncer
