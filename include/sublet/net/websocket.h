// WebSocket: the server's end of RFC 6455 over bytes: frames to messages and messages to frames. No extensions.
//
// A message of more than kMessageMax bytes is an error. Not thread-safe. Pure except for its callbacks.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace sublet::net {

/// Returns the Sec-WebSocket-Accept for a Sec-WebSocket-Key.
std::string websocket_accept(std::string_view key);

class WebSocket {
 public:
  struct Calls {
    std::function<void(std::string_view message)> message;
    std::function<void(std::string bytes)> send;
    /// The peer closed or violated the protocol. The last call.
    std::function<void()> over;
  };
  explicit WebSocket(Calls calls) : calls_(std::move(calls)) {}
  void put(std::string_view bytes);
  /// Returns the frame of a binary or text message.
  void send(std::string_view message);
  void send_text(std::string_view text);
  /// Returns the close frame with "normal closure". Send nothing after it.
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
