#include "cli/command_table.h"

#include <CLI/CLI.hpp>

#include "sublet/base/text.h"

namespace sublet::cli {
namespace {

// CLI11 writes the type and the checks of a value as one text, "TEXT:{text,json}" or "INT:INT in [0 - 10000]".
void read_value(const std::string& type, WordRow& row) {
  row.value = type.substr(0, type.find_first_of(": "));
  const auto open = type.find(":{");
  if (open == std::string::npos) return;
  const auto begin = open + 2;
  const std::string_view set = std::string_view(type).substr(begin, type.find('}', begin) - begin);
  for (const std::string_view choice : split(set, ',')) row.choices.emplace_back(choice);
}

WordRow read_word(const CLI::Option& option) {
  WordRow row;
  if (option.get_positional()) row.names.push_back(option.get_name(true));
  for (const auto& name : option.get_snames()) row.names.push_back("-" + name);
  for (const auto& name : option.get_lnames()) row.names.push_back("--" + name);
  if (option.get_items_expected_max() > 0) read_value(option.get_type_name(), row);
  row.help = option.get_description();
  row.default_value = option.get_default_str();
  row.required = option.get_required();
  row.repeats = option.get_items_expected_max() > 1;
  return row;
}

std::string examples_of(std::string footer) {
  constexpr std::string_view kHeading = "Examples:\n";
  if (footer.starts_with(kHeading)) footer.erase(0, kHeading.size());
  return footer;
}

}  // namespace

CommandRow read_commands(const CLI::App& app) {
  CommandRow row;
  row.name = app.get_name();
  row.aliases = app.get_aliases();
  row.summary = app.get_description();
  row.examples = examples_of(app.get_footer());
  for (const CLI::Option* option : app.get_options())
    if (!option->get_group().empty())
      (option->get_positional() ? row.arguments : row.flags).push_back(read_word(*option));
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    if (!command->get_group().empty()) row.commands.push_back(read_commands(*command));
  return row;
}

}  // namespace sublet::cli
