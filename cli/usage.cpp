#include "cli/usage.h"

#include <algorithm>
#include <set>

#include "sublet/base/nearest.h"
#include "sublet/base/text.h"

namespace sublet::cli {
namespace {

// What users of kubectl, vcluster, docker and systemctl type.
struct OtherName {
  std::string_view typed, command, hint;
};
constexpr OtherName kOtherCommands[] = {
    {"apply", "create", ""},
    {"describe", "explain", ""},
    {"destroy", "delete", ""},
    {"exec", "connect", "sublet connect NAME -- COMMAND"},
    {"export", "connect", "sublet connect NAME --print"},
    {"get", "list", ""},
    {"help", "", "sublet --help, and sublet COMMAND --help"},
    {"info", "version", ""},
    {"kubeconfig", "connect", "sublet connect NAME --print"},
    {"kubectl", "connect", "sublet connect NAME -- kubectl get pods"},
    {"login", "connect", ""},
    {"logs", "list", "sublet list -o wide shows where the logs are"},
    {"new", "create", ""},
    {"pause", "", "a virtual cluster cannot be paused; delete removes it"},
    {"ps", "list", ""},
    {"remove", "delete", ""},
    {"restart", "create", "create starts what does not run"},
    {"resume", "create", "create starts one that is stopped"},
    {"start", "create", "create starts one that is stopped; boot start starts all"},
    {"status", "list", ""},
    {"stop", "", "a virtual cluster runs until it is deleted"},
    {"update", "create", "create with another quota or address changes it"},
    {"upgrade", "create", "create starts it with this version"},
    {"use", "connect", ""},
};
struct OtherFlag {
  std::string_view typed, flag;
};
constexpr OtherFlag kOtherFlags[] = {
    {"--all", "--all-namespaces"}, {"--cluster-role", "--role"}, {"--file", "--filename"},
    {"--file", "--template"},      {"--format", "--output"},     {"--gpus", "--gpus-per-node"},
    {"--host", "--pod-address"},   {"--json", "--output json"},  {"--kube-context", "--context"},
    {"--ns", "--namespace"},       {"--param", "--set"},         {"--ttl", "--expires"},
    {"--wait", "--timeout"},
};

bool looks_like_flag(std::string_view word) { return word.size() > 1 && word.front() == '-'; }

std::string listed(const std::vector<CommandRow>& commands) {
  std::string text;
  for (const CommandRow& command : commands) text += (text.empty() ? "" : ", ") + command.name;
  return text;
}

const CommandRow* find_command(const CommandRow& in, const std::string& word) {
  for (const CommandRow& command : in.commands)
    if (command.name == word || std::ranges::find(command.aliases, word) != command.aliases.end()) return &command;
  return nullptr;
}

const WordRow* find_flag(const CommandRow& command, std::string_view name) {
  for (const WordRow& flag : command.flags)
    if (std::ranges::find(flag.names, name) != flag.names.end()) return &flag;
  return nullptr;
}

class Reader {
 public:
  Reader(const CommandRow& program, const std::vector<std::string>& words)
      : program_(program), command_(&program), words_(words) {}

  ReadLine read() {
    while (at_ < words_.size() && !mistake_ && !help_) read_word(words_[at_++]);
    if (!mistake_ && !help_) check_end();
    return {path_, std::move(mistake_)};
  }

 private:
  void refuse(std::string message) { mistake_ = std::move(message); }

  void read_word(const std::string& word) {
    if (word == "--help" || word == "-h" || (word == "--version" && command_ == &program_))
      help_ = true;
    else if (word.starts_with("\xe2\x80"))  // a dash, as some programs write "--"
      refuse(double_quoted(word) + " begins with a long dash; type two hyphens: --" + word.substr(3));
    else if (word.starts_with("--"))
      read_long(word);
    else if (looks_like_flag(word))
      read_short(word);
    else if (!command_->commands.empty())
      read_command(word);
    else
      read_argument(word);
  }

  void read_command(const std::string& word) {
    if (const CommandRow* command = find_command(*command_, word)) {
      command_ = command;
      path_ += (path_.empty() ? "" : " ") + command->name;
      return;
    }
    const std::string message = "there is no command " + (word.empty() ? double_quoted(word) : word);
    if (command_ == &program_)
      for (const OtherName& other : kOtherCommands)
        if (other.typed == to_lower(word))
          return refuse(message +
                        (other.command.empty() ? "" : " (did you mean " + double_quoted(other.command) + "?)") +
                        (other.hint.empty() ? "" : ": " + std::string(other.hint)));
    std::vector<std::string_view> names;
    for (const CommandRow& command : command_->commands) names.emplace_back(command.name);
    refuse(message + suggestion(word, names) + "; the commands are " + listed(command_->commands));
  }

  void read_argument(const std::string& word) {
    const auto& arguments = command_->arguments;
    const bool repeats = !arguments.empty() && arguments.back().repeats;
    if (arguments_ == 0) first_argument_ = word;
    if (arguments_++ < arguments.size() || repeats) return;
    if (command_->runs_program) {
      std::string line;
      for (std::size_t i = at_ - 1; i < words_.size(); ++i) line += " " + words_[i];
      return refuse(path_ + " takes one name, and a command only behind --: sublet " + path_ + " " + first_argument_ +
                    " --" + line);
    }
    if (arguments.empty()) return refuse(path_ + " takes no arguments, but there is " + double_quoted(word));
    std::string names;
    for (const WordRow& row : arguments) names += (names.empty() ? "" : " ") + row.names.front();
    refuse(path_ + " takes " + names + ", and " + double_quoted(word) + " is one too many");
  }

  std::string nearest_flag(const std::string& name) const {
    for (const OtherFlag& other : kOtherFlags)
      if (other.typed == name && find_flag(*command_, other.flag.substr(0, other.flag.find(' '))))
        return " (did you mean " + double_quoted(other.flag) + "?)";
    std::vector<std::string_view> names;
    for (const WordRow& flag : command_->flags)
      for (const std::string& each : flag.names)
        if (each.starts_with("--")) names.emplace_back(each);
    if (std::string near = suggestion(name, names); !near.empty()) return near;
    // "-namespace" for "--namespace"; "--name" for "--namespace".
    const std::string bare = name.substr(name.find_first_not_of('-'));
    for (const std::string_view each : names)
      if (bare.size() >= 2 && each.substr(2).starts_with(bare)) return " (did you mean " + double_quoted(each) + "?)";
    return "";
  }

  void refuse_flag(const std::string& name) {
    if (command_ == &program_) {
      for (const CommandRow& command : program_.commands)
        if (find_flag(command, name))
          return refuse(name + " is a flag of commands and comes behind one: sublet " + command.name + " ... " + name);
      return refuse("there is no flag " + name + suggestion(name, {"--help", "--version"}) +
                    "; a command comes first: " + listed(program_.commands));
    }
    std::string where;
    for (const CommandRow& command : command_->commands)
      if (find_flag(command, name)) where += (where.empty() ? "" : " or ") + path_ + " " + command.name;
    if (!where.empty()) return refuse(name + " is a flag of " + where + " and comes behind it");
    refuse("there is no flag " + name + nearest_flag(name));
  }

  void note(const WordRow& flag, const std::string& name) {
    if (!given_.insert(&flag).second && !flag.repeats && !flag.value.empty())
      refuse(name + " is given twice; give it once");
  }

  void read_long(const std::string& word) {
    const auto equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const WordRow* flag = find_flag(*command_, name);
    if (!flag) return refuse_flag(name);
    note(*flag, name);
    if (equals == std::string::npos) return flag->value.empty() ? void() : take_value(*flag, name);
    const std::string value = word.substr(equals + 1);
    if (flag->value.empty() && value != "true" && value != "false")
      return refuse(name + " takes no value, but there is " + double_quoted(value));
    if (!flag->value.empty() && value.empty()) refuse(name + " needs a value behind \"=\": " + value_of(*flag));
  }

  // "-y", "-nteam", "-yn team"
  void read_short(const std::string& word) {
    if (word.size() > 2 && find_flag(*command_, "-" + word.substr(0, word.find('=')))) return refuse_flag(word);
    for (std::size_t i = 1; i < word.size(); ++i) {
      const std::string name = std::string("-") + word[i];
      const WordRow* flag = find_flag(*command_, name);
      if (!flag) return refuse_flag(i == 1 && word.size() > 2 ? word : name);
      note(*flag, name);
      if (flag->value.empty()) continue;
      if (i + 1 == word.size()) return take_value(*flag, name);
      if (word[i + 1] == '=') refuse(name + " takes its value without \"=\": " + name + " " + word.substr(i + 2));
      return;
    }
  }

  // The next word, unless it is another flag.
  void take_value(const WordRow& flag, const std::string& name) {
    if (at_ == words_.size()) return refuse(name + " needs a value: " + value_of(flag));
    const std::string& next = words_[at_];
    if (next == "--help" || find_flag(*command_, next.substr(0, next.find('='))))
      return refuse(name + " needs a value before " + next + ": " + value_of(flag));
    ++at_;
  }

  static std::string value_of(const WordRow& flag) { return flag.help; }

  void check_end() {
    if (command_ == &program_)
      return refuse(words_.empty() ? "a command is missing; the commands are " + listed(program_.commands)
                                   : "a command is missing behind the flags");
    if (!command_->commands.empty()) return refuse(path_ + " needs one of its commands: " + listed(command_->commands));
    for (std::size_t i = arguments_; i < command_->arguments.size(); ++i)
      if (command_->arguments[i].required)
        return refuse(path_ + " needs " + command_->arguments[i].names.front() + ", " + command_->arguments[i].help);
  }

  const CommandRow& program_;
  const CommandRow* command_;
  const std::vector<std::string>& words_;
  std::size_t at_ = 0, arguments_ = 0;
  std::string path_, first_argument_ = "NAME";
  std::set<const WordRow*> given_;
  std::optional<std::string> mistake_;
  bool help_ = false;
};

const CommandRow& command_of(const CommandRow& program, const std::string& path) {
  const CommandRow* command = &program;
  for (const std::string_view name : split(path, ' '))
    if (const CommandRow* found = find_command(*command, std::string(name))) command = found;
  return *command;
}

}  // namespace

ReadLine read_line(const CommandRow& program, const std::vector<std::string>& words) {
  return Reader(program, words).read();
}

std::string usage_text(const CommandRow& program, const std::string& command, const std::string& message) {
  const CommandRow& row = command_of(program, command);
  std::string example(trimmed(row.examples.substr(0, row.examples.find('\n'))));
  if (const auto comment = example.find("   #"); comment != std::string::npos) example.erase(comment);
  while (example.ends_with(' ')) example.pop_back();
  return message + "\nfor example: " + example + "\nhelp: sublet " + (command.empty() ? "" : command + " ") + "--help";
}

std::string rephrased(const std::string& parser_message) {
  for (const auto& [between, instead, end] :
       {std::tuple(" excludes ", " and ", " cannot be given together"), std::tuple(" requires ", " needs ", "")})
    if (const auto at = parser_message.find(between); at != std::string::npos)
      return parser_message.substr(0, at) + instead + parser_message.substr(at + std::string_view(between).size()) +
             end;
  return parser_message;
}

}  // namespace sublet::cli
