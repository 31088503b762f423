#include "simhost/container_program.h"

#include <algorithm>
#include <charconv>

namespace sublet::simhost {
namespace {

using std::chrono::milliseconds;
using Words = std::vector<std::string>;

struct Command {
  enum class After { always, success, failure } after = After::always;
  Words words;
};

/// Commands of a script; nullopt when it uses shell syntax beyond the understood.
std::optional<std::vector<Command>> split_script(std::string_view script) {
  std::vector<Command> out(1);
  std::string word;
  bool in_word = false;
  char quote = 0;
  const auto end_word = [&] {
    if (in_word) out.back().words.push_back(std::move(word));
    word.clear();
    in_word = false;
  };
  const auto next_command = [&](Command::After after) {
    end_word();
    out.push_back({after, {}});
  };
  for (std::size_t i = 0; i < script.size(); ++i) {
    const char c = script[i];
    if (quote != 0) {
      if (c == quote) {
        quote = 0;
      } else {
        word += c;
      }
    } else if (c == '\'' || c == '"') {
      quote = c;
      in_word = true;
    } else if (c == ' ' || c == '\t') {
      end_word();
    } else if (c == ';' || c == '\n') {
      next_command(Command::After::always);
    } else if (script.substr(i).starts_with("&&") || script.substr(i).starts_with("||")) {
      next_command(c == '&' ? Command::After::success : Command::After::failure);
      ++i;
    } else if (std::string_view("|&<>`$(){}#").find(c) != std::string_view::npos) {
      return std::nullopt;
    } else {
      word += c;
      in_word = true;
    }
  }
  end_word();
  return quote == 0 ? std::optional(std::move(out)) : std::nullopt;
}

std::optional<milliseconds> parse_sleep(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !(number >= 0 && number < 1e9)) return std::nullopt;
  struct Unit {
    std::string_view suffix;
    double seconds;
  };
  static constexpr Unit kUnits[] = {{"", 1}, {"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}};
  const std::string_view suffix = text.substr(static_cast<std::size_t>(end - text.data()));
  const auto unit = std::ranges::find(kUnits, suffix, &Unit::suffix);
  if (unit == std::end(kUnits)) return std::nullopt;
  return milliseconds(static_cast<std::int64_t>(number * unit->seconds * 1000));
}

class Runner {
 public:
  /// False: from here on the program runs for ever.
  bool run(const Words& words) {
    const std::string& name = words[0];
    if (name == "true" || name == ":" || name == "/bin/true") {
      status_ = 0;
    } else if (name == "false" || name == "/bin/false") {
      status_ = 1;
    } else if (name == "exit") {
      return run_exit(words);
    } else if (name == "sleep" || name == "/bin/sleep") {
      return run_sleep(words);
    } else if (name == "echo") {
      std::string text;
      for (std::size_t i = 1; i < words.size(); ++i) text += (i > 1 ? " " : "") + words[i];
      program_.lines.push_back({now_, std::move(text)});
      status_ = 0;
    } else {
      return false;
    }
    return true;
  }
  bool wanted(Command::After after) const {
    return after == Command::After::always || (after == Command::After::success) == (status_ == 0);
  }
  bool exited() const { return exited_; }
  ContainerProgram finish(bool ends) {
    if (ends) program_.end = {now_, status_};
    return std::move(program_);
  }

 private:
  bool run_exit(const Words& words) {
    exited_ = true;
    if (words.size() < 2) return true;
    int code = 0;
    const auto [end, error] = std::from_chars(words[1].data(), words[1].data() + words[1].size(), code);
    status_ = error == std::errc() ? code & 0xff : 2;
    return true;
  }
  bool run_sleep(const Words& words) {
    const auto time = words.size() == 2 ? parse_sleep(words[1]) : std::nullopt;
    if (!time) return false;  // "infinity" among others
    now_ += *time;
    status_ = 0;
    return true;
  }

  ContainerProgram program_;
  milliseconds now_{0};
  int status_ = 0;
  bool exited_ = false;
};

bool is_shell(std::string_view name) {
  name = name.substr(name.rfind('/') + 1);
  return name == "sh" || name == "bash" || name == "ash" || name == "dash";
}

}  // namespace

ContainerProgram read_program(const schema::Value& container) {
  Words words;
  for (const schema::Value word : container["command"]) words.push_back(word.string());
  const bool entry_point = words.empty();
  for (const schema::Value word : container["args"]) words.push_back(word.string());
  if (entry_point) return {};

  std::optional<std::vector<Command>> commands = std::vector<Command>{{Command::After::always, words}};
  if (words.size() >= 3 && is_shell(words[0]) && (words[1] == "-c" || words[1] == "-ec"))
    commands = split_script(words[2]);
  if (!commands) return {};
  Runner runner;
  for (const Command& command : *commands) {
    if (command.words.empty() || !runner.wanted(command.after)) continue;
    if (!runner.run(command.words)) return runner.finish(false);
    if (runner.exited()) break;
  }
  return runner.finish(true);
}

}  // namespace sublet::simhost
