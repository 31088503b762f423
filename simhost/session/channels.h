// Channels: the five streams of exec and attach, over either protocol.
//
// Not thread-safe: the session's loop.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "simhost/session/carrier.h"

namespace sublet::simhost::session {

/// Numbered as the WebSocket protocol does.
enum class Channel : unsigned char { input = 0, output = 1, errors = 2, status = 3, resize = 4 };

/// Which of them a client asks for; `status` is always there.
struct WantedChannels {
  bool input = false, output = false, errors = false, tty = false;
};

class Channels {
 public:
  struct Calls {
    std::function<void()> ready;  // all that is wanted is there
    std::function<void(Channel, std::string_view)> bytes;
    std::function<void(Channel)> ended;
    std::function<void()> over;
  };
  virtual ~Channels() = default;
  virtual void begin() = 0;
  virtual void put(std::string_view bytes) = 0;
  virtual void write(Channel channel, std::string_view bytes) = 0;
  /// All is said.
  virtual void finish() = 0;
};

std::unique_ptr<Channels> make_channels(Protocol::Kind protocol, const WantedChannels& wanted, std::shared_ptr<Out> out,
                                        Channels::Calls calls);

}  // namespace sublet::simhost::session
