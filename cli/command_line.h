// CommandLine: the words after `sublet`. Declares every command (command.h), names what is wrong with the words
// (usage.h), and runs the command. `make_driver` is called only by a command that needs a driver, after the words were
// found good.
#pragma once

#include "cli/command.h"
#include "cli/command_table.h"

namespace sublet::cli {

/// Prints help, usage errors and what the command prints; returns the exit code.
int run_command_line(int argc, char** argv, const DriverMaker& make_driver);

/// What run_command_line() takes, as data.
CommandRow command_table();

}  // namespace sublet::cli
