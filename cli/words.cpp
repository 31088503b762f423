#include "cli/words.h"

#include <CLI/CLI.hpp>
#include <charconv>

#include "sublet/base/nearest.h"
#include "sublet/base/text.h"

namespace sublet::cli {
namespace {

constexpr std::chrono::seconds kTimeoutMax{24 * 3600};

std::optional<std::int64_t> whole_number(const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

CLI::Validator in_range(NumberRange range) {
  return CLI::Validator(
      [range](std::string& text) {
        const auto value = whole_number(text);
        if (value && *value >= range.first && *value <= range.last) return std::string();
        return double_quoted(text) + " is not a whole number from " + std::to_string(range.first) + " to " +
               std::to_string(range.last);
      },
      "");
}

// CLI11 shows the set in its help as "{a,b}", which command_table.cpp reads.
CLI::Validator one_of(const std::vector<std::string>& choices) {
  CLI::Validator validator(
      [choices](std::string& text) {
        if (std::ranges::find(choices, text) != choices.end()) return std::string();
        const std::vector<std::string_view> names(choices.begin(), choices.end());
        return double_quoted(text) + " is not one of " + join(choices, ", ") + suggestion(text, names);
      },
      "");
  return validator.description("{" + join(choices, ",") + "}");
}

CLI::Validator a_timeout() {
  return CLI::Validator(
      [](std::string& text) {
        const auto value = parse_timeout(text);
        if (value && value->count() >= 1 && *value <= kTimeoutMax) return std::string();
        return double_quoted(text) + " is not a time from 1s to 24h, such as 90s, 5m or 2h";
      },
      "");
}

}  // namespace

std::optional<std::chrono::seconds> parse_timeout(const std::string& text) {
  constexpr std::pair<std::string_view, std::int64_t> kTimeUnits[] = {{"s", 1}, {"m", 60}, {"h", 3600}, {"", 1}};
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value > kTimeoutMax.count()) return std::nullopt;
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  for (const auto& [name, seconds] : kTimeUnits)
    if (unit == name) return std::chrono::seconds(value * seconds);
  return std::nullopt;
}

Word& Word::required() {
  option_->required();
  return *this;
}

Word& Word::excludes(const Word& other) {
  option_->excludes(other.option_);
  return *this;
}

Word& Word::excludes(const char* name) {
  option_->excludes(name);
  return *this;
}

Word& Word::needs(const Word& other) {
  option_->needs(other.option_);
  return *this;
}

Word Words::text(const char* names, std::string& value, const std::string& help) {
  return Word(app_.add_option(names, value, help));
}

Word Words::texts(const char* names, std::vector<std::string>& values, const std::string& help) {
  CLI::Option* option = app_.add_option(names, values, help);
  // Else a flag would take the argument behind its value as another value.
  if (names[0] == '-') option->allow_extra_args(false);
  return Word(option);
}

Word Words::file(const char* names, std::string& path, const std::string& help) {
  return Word(app_.add_option(names, path, help)->type_name("FILE"));
}

Word Words::flag(const char* names, bool& value, const std::string& help) {
  return Word(app_.add_flag(names, value, help));
}

Word Words::boolean(const char* names, bool& value, const std::string& help) {
  return Word(app_.add_option_function<std::string>(
                      names, [&value](const std::string& text) { value = text == "true"; }, help)
                  ->check(one_of({"true", "false"}))
                  ->default_str(value ? "true" : "false"));
}

Word Words::choice(const char* names, std::string& value, std::vector<std::string> choices, const std::string& help) {
  return Word(app_.add_option(names, value, help)->check(one_of(choices)));
}

Word Words::number(const char* names, std::optional<int>& value, NumberRange range, const std::string& help) {
  return Word(app_.add_option(names, value, help)->check(in_range(range)));
}

Word Words::number(const char* names, std::optional<std::int64_t>& value, NumberRange range, const std::string& help) {
  return Word(app_.add_option(names, value, help)->check(in_range(range)));
}

Word Words::timeout(const char* names, std::chrono::seconds& value, const std::string& help) {
  return Word(app_.add_option_function<std::string>(
                      names, [&value](const std::string& text) { value = parse_timeout(text).value_or(value); }, help)
                  ->check(a_timeout())
                  ->type_name("TIME"));
}

Word Words::output(std::string& value) { return choice("-o,--output", value, {"text", "json"}, "text or json"); }

Words Words::command(const char* name, const char* summary, std::function<void()> chosen) {
  app_.require_subcommand(1);
  CLI::App* command = app_.add_subcommand(name, summary);
  command->callback(std::move(chosen));
  return Words(*command);
}

void Words::examples(const std::string& lines) { app_.footer("Examples:\n" + lines); }

}  // namespace sublet::cli
