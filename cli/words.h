// Words: what a command takes on the command line: arguments, flags, commands of its own, examples. Each word is bound
// to a variable that the parser fills. Over CLI11, which only words.cpp, command_line.cpp and command_table.cpp know.
//
// A value is checked while the line is parsed; the error names the flag, the value and what is accepted.
// Lifecycle: the variables outlive the parser. Threads: one.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace sublet::cli {

class Word {
 public:
  explicit Word(CLI::Option* option) : option_(option) {}
  Word& required();
  /// The two cannot be given together.
  Word& excludes(const Word& other);
  Word& excludes(const char* name);
  /// This one makes sense only together with the other.
  Word& needs(const Word& other);

 private:
  CLI::Option* option_;
};

/// Inclusive.
struct NumberRange {
  std::int64_t first, last;
};

class Words {
 public:
  explicit Words(CLI::App& app) : app_(app) {}

  /// `names`: "-n,--namespace" of a flag, "NAME" of an argument. The help is one line.
  Word text(const char* names, std::string& value, const std::string& help);
  /// An argument that is given once or more, or a flag that may be repeated with one value each.
  Word texts(const char* names, std::vector<std::string>& values, const std::string& help);
  /// Shells complete its value with file names.
  Word file(const char* names, std::string& path, const std::string& help);
  Word flag(const char* names, bool& value, const std::string& help);
  /// A flag whose value is true or false.
  Word boolean(const char* names, bool& value, const std::string& help);
  Word choice(const char* names, std::string& value, std::vector<std::string> choices, const std::string& help);
  Word number(const char* names, std::optional<int>& value, NumberRange range, const std::string& help);
  Word number(const char* names, std::optional<std::int64_t>& value, NumberRange range, const std::string& help);
  /// "60s", "5m", "2h", or seconds; from one second to a day.
  Word timeout(const char* names, std::chrono::seconds& value, const std::string& help);
  /// -o: text or json.
  Word output(std::string& value);

  /// A command of its own; `chosen` runs when it is given. One of them must be given.
  Words command(const char* name, const char* summary, std::function<void()> chosen);
  /// One a line. The first is shown with usage errors.
  void examples(const std::string& lines);

 private:
  CLI::App& app_;
};

/// "90s", "5m", "2h", "45": seconds; nullopt for anything else.
std::optional<std::chrono::seconds> parse_timeout(const std::string& text);

}  // namespace sublet::cli
