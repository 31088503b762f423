// ContainerSession: exec and attach in a simulated container. The client receives the output of a command when its
// moment comes, and at the end the exit code.
//
// A lone shell is interactive: it answers each line, with a prompt on a terminal. Any other command is run again from
// its start when more input has arrived (shell.h: starved), and the client receives what is new in its output.
// Lifecycle: the connection owns the session. Threads: the loop's.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "simhost/session/channels.h"
#include "simhost/shell/shell.h"
#include "sublet/base/clock.h"

namespace sublet::simhost::session {

/// The output of a process in absolute time, and how it ends.
struct Play {
  struct Piece {
    WallTime at;
    std::string bytes;
    bool is_error = false;
  };
  std::vector<Piece> pieces{};
  struct End {
    WallTime at;
    int exit_code = 0;
  };
  std::optional<End> end{};  // nullopt: it runs until the container does
  /// The output of a process that started at `start`.
  static Play of(const shell::Trace& trace, WallTime start);
};

class ContainerSession : public Session {
 public:
  /// The container has stopped.
  virtual void stop(int exit_code) = 0;
};

struct SessionSetting {
  net::Loop& loop;
  Clock& clock;
  Protocol protocol;
  WantedChannels wanted;
};

/// What the owner of a main process learns from the session that gives it its input.
struct MainProcessCalls {
  std::function<void(const Play::Piece&)> printed{};
  std::function<void(int exit_code)> ended{};
  bool ends_with_session = false;  // stdinOnce: the end of the session is the end of the input
};

std::shared_ptr<ContainerSession> make_exec(const SessionSetting& setting, shell::Words command, shell::World world,
                                            std::shared_ptr<Out> out, MainProcessCalls calls = {});
std::shared_ptr<ContainerSession> make_attach(const SessionSetting& setting, Play program, std::shared_ptr<Out> out);

/// The status object for an exit code, with the kubelet's message.
std::string exit_status(int exit_code);

}  // namespace sublet::simhost::session
