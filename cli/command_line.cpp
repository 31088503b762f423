#include "cli/command_line.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <optional>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/steps.h"
#include "cli/usage.h"

namespace sublet::cli {
namespace {

constexpr const char* kProgramSummary =
    "sublet: virtual Kubernetes clusters, each with its own API server, on one shared host";

// The parser and the commands that it fills.
struct Parser {
  CLI::App app{kProgramSummary, "sublet"};
  std::vector<std::unique_ptr<Command>> commands;  // as in command_list()

  Parser() {
    app.require_subcommand(1);
    app.set_version_flag("--version", version_text, "print the versions");
    Words words(app);
    words.examples(
        "  sublet create rag --namespace team-rag -f templates/gpu-fraction.yaml\n"
        "  sublet connect rag -- kubectl get pods\n  sublet delete rag");
    for (const CommandEntry& entry : command_list()) {
      CLI::App* declared = app.add_subcommand(entry.name, entry.summary);
      if (entry.alias) declared->alias(entry.alias);
      Words of_command(*declared);
      commands.push_back(entry.make());
      commands.back()->declare(of_command);
    }
  }

  CommandRow table() const {
    CommandRow table = read_commands(app);
    for (std::size_t i = 0; i < commands.size(); ++i) table.commands[i].runs_program = commands[i]->runs_program();
    return table;
  }

  // The one that the parsed line names.
  Command& chosen() const {
    std::size_t at = 0;
    while (!app.got_subcommand(command_list()[at].name)) ++at;
    return *commands[at];
  }
};

int usage(const CommandRow& table, const std::string& command, const std::string& message) {
  std::fprintf(stderr, "sublet: %s\n", printable(usage_text(table, command, message)).c_str());
  return kUsage;
}

// The words behind "--" belong to another program and never reach the parser. nullopt: there is no "--".
std::optional<std::vector<std::string>> take_program(std::vector<std::string>& words) {
  const auto dashes = std::ranges::find(words, "--");
  if (dashes == words.end()) return std::nullopt;
  std::vector<std::string> program(dashes + 1, words.end());
  words.erase(dashes, words.end());
  return program;
}

// CLI11 takes the words from the last to the first.
void parse(CLI::App& app, std::vector<std::string> words) {
  std::ranges::reverse(words);
  app.parse(std::move(words));
}

}  // namespace

int usage_error(const std::string& command, const std::string& message) {
  return usage(command_table(), command, message);
}

int run_command_line(int argc, char** argv, const DriverMaker& make_driver) {
  Parser parser;
  const CommandRow table = parser.table();
  std::vector<std::string> words(argv + 1, argv + argc);
  const auto program = take_program(words);
  const ReadLine line = read_line(table, words);
  if (line.mistake) return usage(table, line.command, *line.mistake);
  try {
    parse(parser.app, words);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return parser.app.exit(error);  // help
    return usage(table, line.command, rephrased(error.what()));
  }
  Command& command = parser.chosen();
  if (program && !command.runs_program()) return usage(table, line.command, "only connect takes a command behind --");
  if (program && program->empty()) return usage(table, line.command, "a command is missing behind --");
  return command.run({make_driver, program.value_or(std::vector<std::string>())});
}

CommandRow command_table() { return Parser().table(); }

}  // namespace sublet::cli
