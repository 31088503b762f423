// ContainerSession: exec and attach in a simulated container: what its command says goes to the client at its moments,
// and at the end its exit code.
//
// A lone shell is a conversation: a line in, its answer out, with a prompt on a terminal. Any other command that reads
// standard input gets it whole, when the client has ended it. Threads: the loop's.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "simhost/session/channels.h"
#include "simhost/shell/shell.h"
#include "sublet/base/clock.h"

namespace sublet::simhost::session {

/// What a process says, in absolute time, and how it ends.
struct Play {
  struct Line {
    WallTime at;
    std::string text;
  };
  std::vector<Line> lines{};
  struct End {
    WallTime at;
    int exit_code = 0;
  };
  std::optional<End> end{};  // nullopt: it runs until the container does
};

class ContainerSession : public Session {
 public:
  /// The container has stopped.
  virtual void stop(int exit_code) = 0;
};

struct SessionSetting {
  net::Loop& loop;
  Clock& clock;
  Protocol::Kind protocol;
  WantedChannels wanted;
};

std::shared_ptr<ContainerSession> make_exec(const SessionSetting& setting, shell::Words command, shell::World world,
                                            std::shared_ptr<Out> out);
std::shared_ptr<ContainerSession> make_attach(const SessionSetting& setting, Play program, std::shared_ptr<Out> out);

/// What the status channel says of an exit code, in the words of the kubelet.
std::string exit_status(int exit_code);

}  // namespace sublet::simhost::session
