// CommandTable: the words that a program takes, as plain data read from its CLI11 app: commands, flags, arguments, help
// and examples. Man pages (man_page.h) and completions (completion.h) are generated from it. Pure.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace sublet::cli {

/// A flag, or an argument that has no dashes.
struct WordRow {
  std::vector<std::string> names;  // "-o", "--output"; of an argument "NAME"
  std::string value;               // what a flag's value is, "TEXT" or "FILE"; empty: the flag has none
  std::vector<std::string> choices;
  std::string help;
  std::string default_value;
  bool required = false;
  bool repeats = false;  // may be given several times
};

struct CommandRow {
  std::string name;
  std::vector<std::string> aliases;
  std::string summary;
  std::string examples;  // lines, without the heading
  std::vector<WordRow> flags, arguments;
  std::vector<CommandRow> commands;
  bool runs_program = false;  // takes "-- COMMAND..." at the end
};

/// Of the app and all its commands. What has an empty group is hidden, and left out.
CommandRow read_commands(const CLI::App& app);

}  // namespace sublet::cli
