// Usage: finds what is wrong with the words of a command line before the parser does, so that the error names the
// cause, the nearest known word and an example. Values are checked by the parser (words.h). Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/command_table.h"

namespace sublet::cli {

struct ReadLine {
  std::string command;                 // the command that is meant: "create", "certs check"; "": none
  std::optional<std::string> mistake;  // nullopt: none that the table of words knows
};
/// `words`: behind `sublet`, without what is behind "--".
ReadLine read_line(const CommandRow& program, const std::vector<std::string>& words);

/// The message with the command's name before it and its first example behind it, over two lines.
std::string usage_text(const CommandRow& program, const std::string& command, const std::string& message);

/// Rephrases an error of the parser: flags that exclude or need each other. Others stay as they are.
std::string rephrased(const std::string& parser_message);

}  // namespace sublet::cli
