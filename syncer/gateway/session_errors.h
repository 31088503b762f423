// SessionErrors: what the host says of an exec or attach that has begun, in the tenant's words. Over WebSocket its API
// server answers 101 before it has reached the pod's node; that it could not, with the names and addresses of the host,
// comes as a message of the error channel. Those messages are translated; all other bytes pass unchanged.
//
// Frames that are no server's (masked, with extensions) end the looking: the bytes go through. Bounded: of a message on
// the error channel the first kErrorMax bytes are translated. Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "sublet/net/duplex.h"

namespace sublet::syncer {

class SessionErrors {
 public:
  /// A message of the error channel, without its channel's byte, in other words.
  using Translate = std::function<std::string(std::string_view message)>;
  static constexpr std::size_t kErrorMax = 64 * 1024;
  explicit SessionErrors(Translate translate) : translate_(std::move(translate)) {}
  /// What goes on now that these bytes have come.
  std::string pass(std::string_view bytes);

 private:
  std::string_view begin_frame(std::string_view bytes, std::string& out);
  std::string_view take_payload(std::string_view bytes, std::string& out);
  void end_frame(std::string& out);

  const Translate translate_;
  std::string head_;        // of the frame that is coming, until it is known where it goes
  std::uint64_t left_ = 0;  // bytes of its payload that are still to come
  bool in_frame_ = false, final_ = false, control_ = false, undecided_ = false;
  bool error_ = false;        // the message that is coming is one of the error channel
  unsigned char opcode_ = 0;  // of that message
  std::string message_;
  bool given_up_ = false;
};

/// Whether a session that was answered so has an error channel that SessionErrors can read.
bool has_error_channel(std::string_view subresource, std::string_view websocket_protocol);
/// Returns the host's connection with its errors translated.
std::shared_ptr<net::Duplex> with_errors_translated(std::shared_ptr<net::Duplex> host,
                                                    SessionErrors::Translate translate);

}  // namespace sublet::syncer
