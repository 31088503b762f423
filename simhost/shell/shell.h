// The shell of simulated containers: runs a script to its end at once and returns what it printed when, and how it
// ended.
//
// Time is simulated: `sleep 5` moves the script's own clock. A script that never ends (`sleep infinity`, an endless
// loop, `wait` for one of these) gives a Trace without an end. Commands are a table in commands.cpp. Any other name is
// a program of the image, which the simulation does not know; `Context` decides what it does then.
// Standard input may still be open: a command that reads more than has arrived ends the run as `starved`. Run the same
// words again when more has arrived; the run is deterministic, so its output begins with what it was before.
// Threads: the loop's. Side effects: the files it writes.
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

/// Standard input, as far as it has arrived.
struct Input {
  std::string text{};
  struct Arrival {
    std::size_t size;              // of `text` from then on
    std::chrono::milliseconds at;  // after the start
  };
  std::vector<Arrival> arrivals{};  // empty: all of it was there at the start
  bool open = false;                // more may arrive
};

/// What a process of a container sees.
struct World {
  Variables variables{};  // its environment
  Files files{};
  WallTime start{};
  Random* random = nullptr;  // never null in a run
  std::string hostname{};
  Input input{};
  std::chrono::milliseconds program_life{2000};  // of an unknown program in Context::task
};

/// A piece of output: a line, or what a process printed without ending the line.
struct Line {
  std::chrono::milliseconds at;  // after the start
  std::string text;
  bool is_error = false;  // on standard error
  bool newline = true;
  /// The bytes that the process wrote.
  std::string bytes() const { return newline ? text + '\n' : text; }
};
struct End {
  std::chrono::milliseconds at;
  int exit_code = 0;
};

/// What a process did.
struct Trace {
  std::vector<Line> lines{};
  std::optional<End> end{};       // nullopt: it runs for ever, or is starved
  bool starved = false;           // it waits for input
  bool background = false;        // what it started in the background runs for ever
  std::string unknown_program{};  // the first program that the simulation does not know
  /// What it left behind for its signal handlers.
  struct Leftover {
    Variables variables;
    std::map<std::string, std::shared_ptr<Script>> functions;
    std::map<std::string, std::shared_ptr<Script>> traps;  // by signal: "TERM"
  };
  std::shared_ptr<const Leftover> leftover{};
};

class Interpreter;

/// What runs the words, and so what a program does that the simulation does not know.
enum class Context {
  main_process,  // runs for ever
  task,          // main process of a container that is expected to end: succeeds after World::program_life
  probe,         // probe or hook: succeeds at once
  session,       // exec: not found
};

/// Runs `words` as a process: `sh -c SCRIPT` as a script, otherwise one command. `world.files` is written to.
Trace run(const Words& words, World& world, Context context = Context::main_process);
/// Returns true if a container can run `words` without a program that the simulation does not know.
bool is_known_program(const Words& words);
/// Returns true for `sh` and `bash -i`: a shell that reads its commands from standard input.
bool is_lone_shell(const Words& words);

/// An interactive shell: what a line sets, the next one sees. `world` must outlive it.
class Conversation {
 public:
  explicit Conversation(World& world);
  ~Conversation();
  /// Returns what the line printed, and an end if it ended the shell. A command that would run for ever is stopped.
  Trace run_line(const std::string& line);
  /// The lines so far are the beginning of a command, such as `if true`.
  bool is_incomplete() const { return !pending_.empty(); }
  /// $? after the last line.
  int status() const;

 private:
  std::unique_ptr<Interpreter> shell_;
  std::string pending_;
};

/// Runs the handler that `before` set for `signal` ("TERM"); nullopt when there is none: the signal kills.
std::optional<Trace> run_handler(const Trace& before, const std::string& signal, World& world);

}  // namespace sublet::simhost::shell
