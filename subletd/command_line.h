// CommandLine: the words after `subletd`, a command for each role. main.cpp parses them; the manual is generated from
// them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "subletd/role.h"

namespace CLI {
class App;
}

namespace sublet::subletd {

/// What the flags are read into. Outlives the app that it is declared in.
struct CommandLine {
  std::string log_level = "info";
  std::vector<std::unique_ptr<RoleProgram>> programs;
};

/// Declares every role in `app`. `chosen` is called with the program of the role that the words name, its flags read.
void declare_roles(CLI::App& app, CommandLine& into, const std::function<void(RoleProgram&)>& chosen);

}  // namespace sublet::subletd
