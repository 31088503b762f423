// The shell of simulated containers: runs a script through at once and says what it printed when, and how it ended.
//
// Time is simulated: `sleep 5` moves the script's own clock. What runs for ever (`sleep infinity`, a loop without an
// end, a program that the simulation does not know, `wait` for one) ends the run with an open end. Commands are a table
// in commands.cpp; a name that is not there is a program of the image: it runs for ever as the main process, succeeds
// at once as a probe or hook, and is not found by who enters the container (`Context`). Threads: the loop's. Pure but
// for the files it writes.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "simhost/shell/files.h"
#include "simhost/shell/syntax.h"
#include "sublet/base/clock.h"
#include "sublet/base/random.h"

namespace sublet::simhost::shell {

using Words = std::vector<std::string>;
using Variables = std::map<std::string, std::string>;

/// What a process of a container sees.
struct World {
  Variables variables{};  // its environment
  Files files{};
  WallTime start{};
  Random* random = nullptr;  // never null in a run
  std::string hostname{};
  std::string input{};  // what stands on standard input, whole
};

struct Line {
  std::chrono::milliseconds at;  // after the start
  std::string text;
};
struct End {
  std::chrono::milliseconds at;
  int exit_code = 0;
};

/// What a process did.
struct Trace {
  std::vector<Line> lines{};
  std::optional<End> end{};  // nullopt: it runs for ever
  bool background = false;   // and what it started in the background does
  /// What it left behind for its signal handlers.
  struct Leftover {
    Variables variables;
    std::map<std::string, std::shared_ptr<Script>> functions;
    std::map<std::string, std::shared_ptr<Script>> traps;  // by signal: "TERM"
  };
  std::shared_ptr<const Leftover> leftover{};
};

class Interpreter;

enum class Context { main_process, probe, session };

/// Runs `words` as a process: `sh -c SCRIPT` as a script, otherwise one command. `world.files` is written to.
Trace run(const Words& words, World& world, Context context = Context::main_process);
/// A shell that somebody talks to: what a line sets, the next one sees. `world` must outlive it.
class Conversation {
 public:
  explicit Conversation(World& world);
  ~Conversation();
  /// What the line said; with an end, when it ended the shell. What would run for ever is broken off.
  Trace say(const std::string& line);
  /// $? after the last line.
  int status() const;

 private:
  std::unique_ptr<Interpreter> shell_;
};

/// Runs the handler that `before` set for `signal` ("TERM"); nullopt when there is none: the signal kills.
std::optional<Trace> run_handler(const Trace& before, const std::string& signal, World& world);

}  // namespace sublet::simhost::shell
