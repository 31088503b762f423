// Command: one command of `sublet`: its words and what it does. Each is a file of its own; command_list.cpp has a line
// for it. Help, man pages, completions and usage errors follow from its words.
//
//   class HelloCommand final : public Command {
//    public:
//     void declare(Words& words) override {
//       words.text("NAME", name_, "whom to greet").required();
//       words.examples("  sublet hello rag");
//     }
//     int run(const Invocation&) override { return std::printf("hello %s\n", name_.c_str()) > 0 ? kOk : kFailure; }
//
//    private:
//     std::string name_;
//   };
//
// Lifecycle: made for one command line, declared, and run if the line names it. run() returns an exit code
// (exit_code.h), writes data to stdout and everything else to stderr.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/command_table.h"
#include "cli/words.h"
#include "sublet/cluster/driver.h"

namespace sublet::cli {

using DriverMaker = std::function<std::shared_ptr<cluster::Driver>()>;

/// What a command may use.
struct Invocation {
  const DriverMaker& make_driver;    // makes the driver; called by commands that need one
  std::vector<std::string> program;  // the words behind "--"
};

class Command {
 public:
  virtual ~Command() = default;
  /// Adds its arguments, flags and examples; they write into this object.
  virtual void declare(Words& words) = 0;
  virtual int run(const Invocation& invocation) = 0;
  /// True for one that takes another program's command behind "--".
  virtual bool runs_program() const { return false; }
};

struct CommandEntry {
  const char* name;
  const char* alias;  // null: none
  const char* summary;
  std::unique_ptr<Command> (*make)();
};
/// All commands, in the order of the help.
const std::vector<CommandEntry>& command_list();

/// Prints a usage error with an example of the command and returns its exit code.
int usage_error(const std::string& command, const std::string& message);

}  // namespace sublet::cli
