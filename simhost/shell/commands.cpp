// The commands that the simulated shell knows, as a table. To add one, write a function and a row.
#include <algorithm>
#include <cctype>
#include <charconv>

#include "simhost/shell/interpreter.h"
#include "simhost/shell/tar.h"

namespace sublet::simhost::shell {
namespace {

using std::chrono::milliseconds;

std::optional<std::int64_t> integer(std::string_view text) {
  std::int64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(out) : std::nullopt;
}

/// All lines, without their ends.
std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    out.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

// --- control ---

Flow do_true(Interpreter& shell, const Words&) { return shell.set_status(0), Flow::next; }
Flow do_false(Interpreter& shell, const Words&) { return shell.set_status(1), Flow::next; }

Flow leave(Interpreter& shell, const Words& words, Flow flow) {
  if (words.size() > 1) shell.set_status(integer(words[1]) ? static_cast<int>(*integer(words[1]) & 0xff) : 2);
  return flow;
}
Flow do_exit(Interpreter& shell, const Words& words) { return leave(shell, words, Flow::exited); }
Flow do_return(Interpreter& shell, const Words& words) { return leave(shell, words, Flow::returned); }
Flow do_break(Interpreter& shell, const Words&) { return shell.set_status(0), Flow::broke; }
Flow do_continue(Interpreter& shell, const Words&) { return shell.set_status(0), Flow::continued; }

std::optional<milliseconds> sleep_time(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !(number >= 0 && number < 1e9)) return std::nullopt;  // "infinity" among others
  struct Unit {
    std::string_view suffix;
    double seconds;
  };
  static constexpr Unit kUnits[] = {{"", 1}, {"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}};
  const auto unit = std::ranges::find(kUnits, text.substr(static_cast<std::size_t>(end - text.data())), &Unit::suffix);
  if (unit == std::end(kUnits)) return std::nullopt;
  return milliseconds(static_cast<std::int64_t>(number * unit->seconds * 1000));
}

Flow do_sleep(Interpreter& shell, const Words& words) {
  const auto time = words.size() == 2 ? sleep_time(words[1]) : std::nullopt;
  if (!time) return Flow::for_ever;
  shell.sleep(*time);
  return do_true(shell, words);
}

Flow do_wait(Interpreter& shell, const Words& words) {
  return shell.waits_for_ever() ? Flow::for_ever : do_true(shell, words);
}

Flow do_exec(Interpreter& shell, const Words& words) {
  if (words.size() == 1) return do_true(shell, words);
  const Flow flow = shell.run_command(Words(words.begin() + 1, words.end()));
  return never_returns(flow) ? flow : Flow::exited;
}

Flow do_eval(Interpreter& shell, const Words& words) {
  std::string script;
  for (std::size_t i = 1; i < words.size(); ++i) script += words[i] + " ";
  const auto parsed = parse(script);
  if (parsed) return shell.run(*parsed);
  shell.complain("eval", parsed.error().message);
  return shell.set_status(2), Flow::next;
}

/// set -e and set +e, among other flags.
Flow do_set(Interpreter& shell, const Words& words) {
  for (std::size_t i = 1; i < words.size(); ++i)
    if (words[i].find('e') != std::string::npos && words[i].find_first_of("-+") == 0)
      shell.end_on_failure(words[i][0] == '-');
  return do_true(shell, words);
}

/// . FILE: its commands, here.
Flow do_source(Interpreter& shell, const Words& words) {
  const auto script = words.size() > 1 ? shell.world().files.read(shell.absolute(words[1]), shell.now()) : std::nullopt;
  const auto parsed = script ? parse(*script) : bad_request("no such file");
  if (parsed) return shell.run(*parsed);
  shell.complain(".", parsed.error().message);
  return shell.set_status(1), Flow::exited;
}

Flow do_shift(Interpreter& shell, const Words& words) {
  shell.shift_arguments(words.size() > 1 ? static_cast<std::size_t>(integer(words[1]).value_or(1)) : 1);
  return do_true(shell, words);
}

Flow do_export(Interpreter& shell, const Words& words) {
  for (std::size_t i = 1; i < words.size(); ++i)
    if (const auto equals = words[i].find('='); equals != std::string::npos)
      shell.variables()[words[i].substr(0, equals)] = words[i].substr(equals + 1);
  return do_true(shell, words);
}

Flow do_unset(Interpreter& shell, const Words& words) {
  for (std::size_t i = 1; i < words.size(); ++i) shell.variables().erase(words[i]);
  return do_true(shell, words);
}

/// trap HANDLER SIGNAL...
Flow do_trap(Interpreter& shell, const Words& words) {
  if (words.size() < 3) return do_true(shell, words);
  auto handler = parse(words[1].empty() ? ":" : words[1]);
  if (!handler) {
    shell.complain("trap", handler.error().message);
    return shell.set_status(2), Flow::next;
  }
  const auto shared = std::make_shared<Script>(std::move(*handler));
  for (std::size_t i = 2; i < words.size(); ++i) {
    std::string signal = words[i].starts_with("SIG") ? words[i].substr(3) : words[i];
    if (signal == "15") signal = "TERM";
    shell.set_trap(signal, shared);
  }
  return do_true(shell, words);
}

Flow do_cd(Interpreter& shell, const Words& words) {
  shell.directory() = words.size() > 1 ? shell.absolute(words[1]) : "/";
  return do_true(shell, words);
}

/// read [-r] NAME...: the last variable takes the rest of the line.
Flow do_read(Interpreter& shell, const Words& words) {
  const auto line = shell.read_line();
  std::string_view rest = line ? std::string_view(*line) : std::string_view();
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i].starts_with('-')) continue;
    rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
    const std::size_t end = i + 1 == words.size() ? rest.size() : std::min(rest.find_first_of(" \t"), rest.size());
    shell.variables()[words[i]] = std::string(rest.substr(0, end));
    rest.remove_prefix(end);
  }
  return shell.set_status(line ? 0 : 1), Flow::next;
}

// --- text ---

/// \n, \t, \\ and octal: as `printf` and `echo -e` read them.
std::string unescape(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    const char c = text[++i];
    if (c >= '0' && c <= '7') {
      int code = 0;
      for (int digits = 0; digits < 4 && i < text.size() && text[i] >= '0' && text[i] <= '7'; ++digits)
        code = code * 8 + (text[i++] - '0');
      --i;
      out += static_cast<char>(code);
      continue;
    }
    static constexpr std::string_view kNames = "nrtabfv\\\"", kValues = "\n\r\t\a\b\f\v\\\"";
    const auto known = kNames.find(c);
    if (known == std::string_view::npos) out += '\\';
    out += known == std::string_view::npos ? c : kValues[known];
  }
  return out;
}

Flow do_echo(Interpreter& shell, const Words& words) {
  std::size_t first = 1;
  bool newline = true, escapes = false;
  for (; first < words.size() && (words[first] == "-n" || words[first] == "-e" || words[first] == "-ne"); ++first) {
    newline = newline && words[first] == "-e";
    escapes = escapes || words[first] != "-n";
  }
  std::string text;
  for (std::size_t i = first; i < words.size(); ++i) text += (i > first ? " " : "") + words[i];
  if (escapes) text = unescape(text);
  shell.print(text + (newline ? "\n" : ""));
  return do_true(shell, words);
}

/// One pass over the format; `used` counts the arguments that it took.
std::string format_once(std::string_view format, const Words& words, std::size_t first, std::size_t& used) {
  std::string out;
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      out += format[i];
      continue;
    }
    std::string flags;
    while (++i < format.size() && std::string_view("-0123456789.").find(format[i]) != std::string_view::npos)
      flags += format[i];
    if (i >= format.size() || format[i] == '%') {
      out += '%';
      continue;
    }
    std::string value = first + used < words.size() ? words[first + used] : "";
    ++used;
    if (format[i] == 'd') value = std::to_string(integer(value).value_or(0));
    const bool left = flags.starts_with('-');
    const char fill = !left && flags.starts_with('0') ? '0' : ' ';
    const auto width =
        static_cast<std::size_t>(std::clamp<std::int64_t>(integer(flags.substr(left)).value_or(0), 0, 200));
    if (value.size() < width) value.insert(left ? value.size() : 0, width - value.size(), fill);
    out += value;
  }
  return out;
}

Flow do_printf(Interpreter& shell, const Words& words) {
  if (words.size() < 2) return shell.set_status(2), Flow::next;
  const std::string format = unescape(words[1]);
  std::size_t used = 0;
  std::string out = format_once(format, words, 2, used);
  while (used > 0 && 2 + used < words.size()) out += format_once(format, words, 2, used);
  shell.print(out);
  return do_true(shell, words);
}

/// The content of the files named from `first` on, or of standard input when none is named.
std::optional<std::string> content_of(Interpreter& shell, const Words& words, std::size_t first) {
  if (first >= words.size()) {
    std::string input = shell.read_all();
    return shell.is_starved() ? std::nullopt : std::optional(std::move(input));
  }
  std::string out;
  bool good = true;
  for (std::size_t i = first; i < words.size(); ++i) {
    const auto content =
        words[i] == "-" ? shell.read_all() : shell.world().files.read(shell.absolute(words[i]), shell.now());
    if (!content) shell.complain(words[0], "can't open '" + words[i] + "': No such file or directory"), good = false;
    out += content.value_or("");
    shell.charge(content ? content->size() : 0);
  }
  shell.set_status(good ? 0 : 1);
  return good || !out.empty() ? std::optional(std::move(out)) : std::nullopt;
}

Flow do_cat(Interpreter& shell, const Words& words) {
  shell.set_status(0);
  if (words.size() == 1 || (words.size() == 2 && words[1] == "-"))
    return shell.print(shell.read_available()), Flow::next;
  if (const auto content = content_of(shell, words, 1)) shell.print(*content);
  return Flow::next;
}

/// The first lines of standard input, as soon as they have arrived.
Flow print_first_lines(Interpreter& shell, std::size_t count) {
  shell.set_status(0);
  for (; count > 0; --count) {
    const auto line = shell.read_line();
    if (!line) break;
    shell.print(*line + "\n");
  }
  return Flow::next;
}

Flow do_tail(Interpreter& shell, const Words& words) {
  const bool follows = std::ranges::any_of(words, [](const std::string& w) { return w == "-f" || w == "-F"; });
  if (follows) return Flow::for_ever;
  std::size_t count = 10, first = 1;
  if (words.size() > first && words[first].starts_with('-')) {
    const bool apart = words[first] == "-n" || words[first] == "-c";
    const std::string number =
        apart && words.size() > 2 ? words[2] : words[first].substr(words[first][1] == 'n' ? 2 : 1);
    count = static_cast<std::size_t>(std::max<std::int64_t>(integer(number).value_or(10), 0));
    first += apart ? 2 : 1;
  }
  if (words[0] == "head" && first >= words.size()) return print_first_lines(shell, count);
  const auto content = content_of(shell, words, first);
  if (!content) return Flow::next;
  std::vector<std::string> lines = lines_of(*content);
  if (words[0] == "head" && lines.size() > count) lines.resize(count);
  if (words[0] == "tail" && lines.size() > count)
    lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(count));
  for (const std::string& line : lines) shell.print(line + "\n");
  return Flow::next;
}

/// grep [-q] [-v] [-c] [-i] [-E|-F] TEXT [FILE]: the text itself, not as a pattern, but for `^` and `$` at its ends.
Flow do_grep(Interpreter& shell, const Words& words) {
  std::string flags;
  std::size_t first = 1;
  for (; first < words.size() && words[first].starts_with('-'); ++first) flags += words[first].substr(1);
  if (first >= words.size()) return shell.set_status(2), Flow::next;
  const auto content = content_of(shell, words, first + 1);
  if (!content) return shell.set_status(2), Flow::next;
  const auto has = [&](char flag) { return flags.find(flag) != std::string::npos; };
  const auto lower = [&](std::string text) {
    if (has('i')) std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
    return text;
  };
  std::string wanted = lower(words[first]);
  const bool at_start = wanted.starts_with('^'), at_end = wanted.ends_with('$');
  wanted = wanted.substr(at_start, wanted.size() - at_start - (at_end && wanted.size() > at_start));
  std::string found;
  std::size_t count = 0;
  for (const std::string& line : lines_of(*content)) {
    const std::string text = lower(line);
    const bool matches = at_start && at_end ? text == wanted
                         : at_start         ? text.starts_with(wanted)
                         : at_end           ? text.ends_with(wanted)
                                            : text.find(wanted) != std::string::npos;
    if (matches == has('v')) continue;
    found += line + "\n";
    ++count;
  }
  if (has('c')) found = std::to_string(count) + "\n";
  if (!has('q')) shell.print(found);
  return shell.set_status(count > 0 ? 0 : 1), Flow::next;
}

Flow do_wc(Interpreter& shell, const Words& words) {
  const std::size_t first = words.size() > 1 && words[1].starts_with('-') ? 2 : 1;
  const auto content = content_of(shell, words, first);
  if (!content) return Flow::next;
  const auto lines = std::ranges::count(*content, '\n');
  shell.print(std::to_string(first == 2 && words[1] == "-c" ? static_cast<std::int64_t>(content->size()) : lines) +
              "\n");
  return Flow::next;
}

Flow do_tee(Interpreter& shell, const Words& words) {
  const std::string input = shell.read_all();
  if (shell.is_starved()) return Flow::next;
  for (std::size_t i = 1; i < words.size(); ++i)
    if (!words[i].starts_with("/dev/")) shell.world().files.write(shell.absolute(words[i]), input, shell.now());
  shell.print(input);
  return do_true(shell, words);
}

Flow do_seq(Interpreter& shell, const Words& words) {
  const auto from = words.size() > 2 ? integer(words[1]) : 1, to = words.size() > 1 ? integer(words.back()) : 0;
  if (!from || !to || *to - *from > 10'000) return shell.set_status(1), Flow::next;
  for (auto i = *from; i <= *to; ++i) shell.print(std::to_string(i) + "\n");
  return do_true(shell, words);
}

Flow do_basename(Interpreter& shell, const Words& words) {
  if (words.size() > 1) shell.print(words[1].substr(words[1].rfind('/') + 1) + "\n");
  return do_true(shell, words);
}

/// expr A OP B.
Flow do_expr(Interpreter& shell, const Words& words) {
  std::string expression;
  for (std::size_t i = 1; i < words.size(); ++i) expression += words[i] + " ";
  const std::int64_t value = arithmetic(expression, shell.variables());
  shell.print(std::to_string(value) + "\n");
  return shell.set_status(value == 0 ? 1 : 0), Flow::next;
}

// --- files ---

Flow do_touch(Interpreter& shell, const Words& words) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string path = shell.absolute(words[i]);
    if (!shell.world().files.read(path, shell.now())) shell.world().files.write(path, "", shell.now());
  }
  return do_true(shell, words);
}

Flow do_mkdir(Interpreter& shell, const Words& words) {
  for (std::size_t i = 1; i < words.size(); ++i)
    if (const std::string path = shell.absolute(words[i]);
        !words[i].starts_with('-') && !shell.world().files.is_folder(path, shell.now()))
      shell.world().files.write(path + "/.", "", shell.now());
  return do_true(shell, words);
}

Flow do_rm(Interpreter& shell, const Words& words) {
  bool force = false, good = true;
  Files& files = shell.world().files;
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i].starts_with('-')) {
      force = force || words[i].find('f') != std::string::npos;
      continue;
    }
    const std::string path = shell.absolute(words[i]);
    const std::vector<std::string> inside = files.list(path, shell.now());
    if (!files.read(path, shell.now()) && inside.empty() && !force) {
      shell.complain("rm", "can't remove '" + words[i] + "': No such file or directory");
      good = false;
    }
    for (const std::string& file : inside) files.remove(file, shell.now());
    files.remove(path, shell.now());
  }
  return shell.set_status(good ? 0 : 1), Flow::next;
}

/// cp and mv of one file.
Flow do_copy(Interpreter& shell, const Words& words) {
  Files& files = shell.world().files;
  const auto content =
      words.size() > 2 ? files.read(shell.absolute(words[words.size() - 2]), shell.now()) : std::nullopt;
  if (!content) {
    shell.complain(words[0], "no such file");
    return shell.set_status(1), Flow::next;
  }
  std::string target = shell.absolute(words.back());
  const std::string& source = words[words.size() - 2];
  if (files.is_folder(target, shell.now())) target += "/" + source.substr(source.rfind('/') + 1);
  files.write(target, *content, shell.now());
  if (words[0] == "mv") files.remove(shell.absolute(source), shell.now());
  return do_true(shell, words);
}

Flow do_ls(Interpreter& shell, const Words& words) {
  const bool named = words.size() > 1 && !words.back().starts_with('-');
  const bool hidden =
      words.size() > 1 && words[1].starts_with('-') && words[1].find_first_of("aA") != std::string::npos;
  const std::string folder = shell.absolute(named ? words.back() : "");
  Files& files = shell.world().files;
  const std::vector<std::string> inside = files.list(folder, shell.now());
  if (inside.empty() && !files.is_folder(folder, shell.now())) {
    const bool is_file = files.read(folder, shell.now()).has_value();
    if (is_file) {
      shell.print(words.back() + "\n");
    } else {
      shell.complain("ls", words.back() + ": No such file or directory");
    }
    return shell.set_status(is_file ? 0 : 1), Flow::next;
  }
  std::string last;
  for (const std::string& path : inside) {
    const std::size_t from = path.find_first_not_of('/', folder.ends_with('/') ? folder.size() - 1 : folder.size());
    if (from == std::string::npos) continue;
    const std::string name = path.substr(from, path.find('/', from) - from);
    if (name == last || name == "." || (name.starts_with('.') && !hidden)) continue;
    shell.print(name + "\n");
    last = name;
  }
  return do_true(shell, words);
}

// --- test ---

class Test {
 public:
  Test(Interpreter& shell, Words words) : shell_(shell), words_(std::move(words)) {}
  bool any() {
    bool out = all();
    while (take("-o") || take("||")) out = all() || out;
    return out;
  }
  bool finished() const { return at_ >= words_.size(); }

 private:
  bool take(std::string_view word) { return at_ < words_.size() && words_[at_] == word && ++at_; }
  bool all() {
    bool out = one();
    while (take("-a") || take("&&")) out = one() && out;
    return out;
  }
  bool one() {
    if (take("!")) return !one();
    if (take("(")) {
      const bool out = any();
      take(")");
      return out;
    }
    if (at_ + 2 < words_.size() && is_binary(words_[at_ + 1])) {
      at_ += 3;
      return binary(words_[at_ - 3], words_[at_ - 2], words_[at_ - 1]);
    }
    if (at_ + 1 < words_.size() && words_[at_].size() == 2 && words_[at_][0] == '-') {
      at_ += 2;
      return unary(words_[at_ - 2][1], words_[at_ - 1]);
    }
    return at_ < words_.size() && !words_[at_++].empty();
  }
  static bool is_binary(const std::string& word) {
    static constexpr std::string_view kAll[] = {"=", "==", "!=", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge"};
    return std::ranges::find(kAll, word) != std::end(kAll);
  }
  static bool binary(const std::string& a, const std::string& operation, const std::string& b) {
    if (operation == "=" || operation == "==") return a == b;
    if (operation == "!=") return a != b;
    if (operation == "<") return a < b;
    if (operation == ">") return a > b;
    const auto x = integer(a).value_or(0), y = integer(b).value_or(0);
    if (operation == "-eq") return x == y;
    if (operation == "-ne") return x != y;
    if (operation == "-lt") return x < y;
    if (operation == "-le") return x <= y;
    if (operation == "-gt") return x > y;
    return x >= y;
  }
  bool unary(char operation, const std::string& word) {
    const auto content = shell_.world().files.read(shell_.absolute(word), shell_.now());
    switch (operation) {
      case 'n':
        return !word.empty();
      case 'z':
        return word.empty();
      case 's':
        return content && !content->empty();
      case 'd':
        return shell_.world().files.is_folder(shell_.absolute(word), shell_.now());
      case 'e':
        return content || shell_.world().files.is_folder(shell_.absolute(word), shell_.now());
      case 'f':
      case 'r':
      case 'w':
      case 'x':
        return content.has_value();
      default:
        return false;
    }
  }

  Interpreter& shell_;
  const Words words_;
  std::size_t at_ = 0;
};

Flow do_test(Interpreter& shell, const Words& words) {
  Words inside(words.begin() + 1, words.end());
  if (words[0] != "test" && !inside.empty()) inside.pop_back();  // ] or ]]
  if (inside.empty()) return do_false(shell, words);
  Test test(shell, std::move(inside));
  const bool holds = test.any();
  return shell.set_status(!test.finished() ? 2 : holds ? 0 : 1), Flow::next;
}

// --- about the machine ---

Flow do_hostname(Interpreter& shell, const Words& words) {
  shell.print(shell.world().hostname + "\n");
  return do_true(shell, words);
}

Flow do_date(Interpreter& shell, const Words& words) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(shell.now().time_since_epoch()).count();
  shell.print((words.size() > 1 && words[1] == "+%s" ? std::to_string(seconds) : format_time(shell.now())) + "\n");
  return do_true(shell, words);
}

Flow do_env(Interpreter& shell, const Words& words) {
  if (words[0] == "printenv" && words.size() > 1) {
    const auto found = shell.variables().find(words[1]);
    if (found == shell.variables().end()) return do_false(shell, words);
    shell.print(found->second + "\n");
    return do_true(shell, words);
  }
  for (const auto& [name, value] : shell.variables()) shell.print(name + "=" + value + "\n");
  return do_true(shell, words);
}

Flow do_pwd(Interpreter& shell, const Words& words) {
  shell.print(shell.directory() + "\n");
  return do_true(shell, words);
}

Flow do_whoami(Interpreter& shell, const Words& words) {
  shell.print("root\n");
  return do_true(shell, words);
}

/// kill of itself ends it as that signal does.
Flow do_kill(Interpreter& shell, const Words& words) {
  const bool self = !words.empty() && words.back() == "1";
  if (!self) return do_true(shell, words);
  const bool hard = words.size() > 2 && (words[1] == "-9" || words[1] == "-KILL" || words[1] == "-SIGKILL");
  return shell.set_status(hard ? 137 : 143), Flow::exited;
}

struct CommandRow {
  std::string_view name;
  Flow (*run)(Interpreter&, const Words&);
  bool builtin = false;  // only a shell has it: no program of that name is in an image
};
constexpr CommandRow kCommands[] = {
    {".", do_source, true},
    {":", do_true, true},
    {"[", do_test},
    {"[[", do_test, true},
    {"basename", do_basename},
    {"break", do_break, true},
    {"cat", do_cat},
    {"cd", do_cd, true},
    {"chmod", do_true},
    {"chown", do_true},
    {"continue", do_continue, true},
    {"cp", do_copy},
    {"date", do_date},
    {"echo", do_echo},
    {"env", do_env},
    {"eval", do_eval, true},
    {"exec", do_exec, true},
    {"exit", do_exit, true},
    {"export", do_export, true},
    {"expr", do_expr},
    {"false", do_false},
    {"grep", do_grep},
    {"head", do_tail},
    {"hostname", do_hostname},
    {"kill", do_kill},
    {"local", do_export, true},
    {"ls", do_ls},
    {"mkdir", do_mkdir},
    {"mv", do_copy},
    {"printenv", do_env},
    {"printf", do_printf},
    {"pwd", do_pwd},
    {"read", do_read, true},
    {"return", do_return, true},
    {"rm", do_rm},
    {"seq", do_seq},
    {"set", do_set, true},
    {"shift", do_shift, true},
    {"sleep", do_sleep},
    {"source", do_source, true},
    {"sync", do_true},
    {"tail", do_tail},
    {"tar", do_tar},
    {"tee", do_tee},
    {"test", do_test},
    {"touch", do_touch},
    {"trap", do_trap, true},
    {"true", do_true},
    {"umask", do_true, true},
    {"unset", do_unset, true},
    {"wait", do_wait, true},
    {"wc", do_wc},
    {"whoami", do_whoami},
};

/// + - * / % and comparisons over integers and names, with parentheses.
class Arithmetic {
 public:
  Arithmetic(std::string_view text, const Variables& variables) : text_(text), variables_(variables) {}
  std::int64_t value() { return comparison(0); }

 private:
  bool take(std::string_view operation) {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
    if (!text_.substr(at_).starts_with(operation)) return false;
    at_ += operation.size();
    return true;
  }
  // Unsigned arithmetic wraps; signed overflow would be undefined.
  static std::int64_t wrap(std::uint64_t value) { return static_cast<std::int64_t>(value); }
  static std::uint64_t bits(std::int64_t value) { return static_cast<std::uint64_t>(value); }

  std::int64_t comparison(int depth) {
    std::int64_t out = sum(depth);
    for (;;) {
      if (take("<=")) {
        out = out <= sum(depth);
      } else if (take(">=")) {
        out = out >= sum(depth);
      } else if (take("==") || take("=")) {
        out = out == sum(depth);
      } else if (take("!=")) {
        out = out != sum(depth);
      } else if (take("<")) {
        out = out < sum(depth);
      } else if (take(">")) {
        out = out > sum(depth);
      } else {
        return out;
      }
    }
  }
  std::int64_t sum(int depth) {
    std::int64_t out = product(depth);
    for (;;) {
      if (take("+")) {
        out = wrap(bits(out) + bits(product(depth)));
      } else if (take("-")) {
        out = wrap(bits(out) - bits(product(depth)));
      } else {
        return out;
      }
    }
  }
  std::int64_t product(int depth) {
    std::int64_t out = single(depth);
    for (;;) {
      if (take("*")) {
        out = wrap(bits(out) * bits(single(depth)));
      } else if (take("/")) {
        const std::int64_t by = single(depth);
        out = by == 0 ? 0 : by == -1 ? wrap(-bits(out)) : out / by;
      } else if (take("%")) {
        const std::int64_t by = single(depth);
        out = by == 0 || by == -1 ? 0 : out % by;
      } else {
        return out;
      }
    }
  }
  std::int64_t single(int depth) {
    if (depth > 32) return 0;
    if (take("-")) return wrap(-bits(single(depth + 1)));
    if (take("(")) {
      const std::int64_t out = comparison(depth + 1);
      take(")");
      return out;
    }
    take("$");
    const std::size_t first = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_')) ++at_;
    const std::string word(text_.substr(first, at_ - first));
    if (const auto number = integer(word)) return *number;
    const auto found = variables_.find(word);
    return found == variables_.end() ? 0 : integer(found->second).value_or(0);
  }

  const std::string_view text_;
  const Variables& variables_;
  std::size_t at_ = 0;
};

}  // namespace

namespace {

const CommandRow* find_row(std::string_view name) {
  for (const std::string_view folder : {"/bin/", "/usr/bin/"})
    if (name.starts_with(folder)) name.remove_prefix(folder.size());
  const auto row = std::ranges::find(kCommands, name, &CommandRow::name);
  return row == std::end(kCommands) ? nullptr : row;
}

}  // namespace

std::optional<Flow> run_known(Interpreter& shell, const Words& words) {
  const CommandRow* row = find_row(words[0]);
  if (!row) return std::nullopt;
  Words named = words;
  named[0] = std::string(row->name);
  const Flow flow = row->run(shell, named);
  return shell.is_starved() ? Flow::starved : flow;
}

bool is_table_program(std::string_view name) {
  const CommandRow* row = find_row(name);
  return row && !row->builtin;
}

std::int64_t arithmetic(std::string_view expression, const Variables& variables) {
  return Arithmetic(expression, variables).value();
}

}  // namespace sublet::simhost::shell
