// Channels: the five streams of exec and attach, over SPDY or a WebSocket.
//
// Not thread-safe. Call only from the session's loop.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "simhost/session/carrier.h"

namespace sublet::simhost::session {

/// The numbers are those of the WebSocket protocols.
enum class Channel : unsigned char { input = 0, output = 1, errors = 2, status = 3, resize = 4 };

/// The channels that a client asks for, beside `status`.
struct WantedChannels {
  bool input = false, output = false, errors = false, tty = false;
};

class Channels {
 public:
  struct Calls {
    std::function<void()> ready;  // every channel that is wanted is open
    std::function<void(Channel, std::string_view)> bytes;
    std::function<void(Channel)> ended;
    std::function<void()> over;
  };
  virtual ~Channels() = default;
  virtual void begin() = 0;
  virtual void put(std::string_view bytes) = 0;
  virtual void write(Channel channel, std::string_view bytes) = 0;
  /// Writes how the command ended: an object, or to clients of an old protocol its message, which is empty for success.
  virtual void write_status(std::string_view message, std::string_view object) {
    (void)message;
    write(Channel::status, object);
  }
  /// Ends the connection after what was written.
  virtual void finish() = 0;
};

std::unique_ptr<Channels> make_channels(const Protocol& protocol, const WantedChannels& wanted,
                                        std::shared_ptr<Out> out, Channels::Calls calls);

}  // namespace sublet::simhost::session
