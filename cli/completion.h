// Completion: the scripts that let a shell complete the words after `sublet`. They are generated from the table of
// commands, and ask `sublet list -o name` for the names of virtual clusters. Pure.
#pragma once

#include <string>

#include "cli/command_table.h"

namespace sublet::cli {

std::string bash_completion(const CommandRow& program);
std::string zsh_completion(const CommandRow& program);
std::string fish_completion(const CommandRow& program);

}  // namespace sublet::cli
