// CommandLine: the words after `sublet`. Declares every command's flags and examples, fills the options of commands.h,
// and calls the command with the driver that `make_driver` gives, which is asked only when the words make sense.
// Prints what CLI11 prints (help, mistakes) and gives the exit code.
#pragma once

#include <functional>
#include <memory>

#include "cli/command_table.h"
#include "sublet/cluster/driver.h"

namespace sublet::cli {

using DriverMaker = std::function<std::unique_ptr<cluster::Driver>()>;

int run_command_line(int argc, char** argv, const DriverMaker& make_driver);

/// What run_command_line() takes, as data.
CommandRow command_table();

}  // namespace sublet::cli
