#include "simhost/shell/interpreter.h"

#include <fnmatch.h>

#include <charconv>

namespace sublet::simhost::shell {
namespace {

bool is_shell(std::string_view name) {
  name = name.substr(name.rfind('/') + 1);
  return name == "sh" || name == "bash" || name == "ash" || name == "dash";
}

/// The position of SCRIPT in `sh [-eu...] -c SCRIPT`; 0 for other words.
std::size_t script_position(const Words& words) {
  if (words.empty() || !is_shell(words[0])) return 0;
  for (std::size_t i = 1; i + 1 < words.size() && words[i].starts_with('-'); ++i)
    if (words[i].ends_with('c')) return i + 1;
  return 0;
}

/// The position of FILE in `sh [-eu...] FILE`; 0 for other words.
std::size_t file_position(const Words& words) {
  if (words.empty() || !is_shell(words[0])) return 0;
  std::size_t at = 1;
  while (at < words.size() && (words[at].starts_with('-') || words[at].starts_with('+'))) ++at;
  return at < words.size() ? at : 0;
}

/// The first line of a file names a shell.
bool is_shell_script(std::string_view text) {
  if (!text.starts_with("#!")) return false;
  std::string_view line = text.substr(2, text.find('\n') - 2);
  line = line.substr(line.find_last_of("/ ", line.find_last_not_of(" -eux")) + 1);
  return is_shell(line.substr(0, line.find(' ')));
}

/// Returns true if the operand of ${NAME:-x} and similar takes the variable's place.
bool operand_wanted(const std::string& operation, bool is_set, const std::string& value) {
  if (operation == ":-") return value.empty();
  if (operation == "-") return !is_set;
  if (operation == ":+") return !value.empty();
  return operation == "+" && is_set;
}

}  // namespace

// --- runs ---

Trace Interpreter::run_script(const Script& script) { return finish(run(script)); }

Trace Interpreter::run_words(const Words& words) {
  if (words.empty()) return finish(Flow::for_ever);
  return finish(run_command(words));
}

Trace Interpreter::run_handler(const Trace::Leftover& before, const Script& handler) {
  variables_ = before.variables;
  functions_ = before.functions;
  return finish(run(handler));
}

Trace Interpreter::run_line(const Script& script) {
  now_ = {};
  steps_ = 0;
  const Flow flow = run(script);
  if (flow == Flow::for_ever) {
    complain("simhost", "the command was stopped: it would run for ever");
    status_ = 130;
  }
  flush_lines();
  Trace out;
  out.lines = std::exchange(lines_, {});
  if (flow == Flow::exited) out.end = End{now_, status_};
  return out;
}

Trace Interpreter::finish(Flow flow) {
  flush_lines();
  Trace out;
  out.lines = std::move(lines_);
  if (!never_returns(flow)) out.end = End{now_, status_};
  out.starved = flow == Flow::starved;
  out.background = background_for_ever_;
  out.unknown_program = std::move(unknown_program_);
  if (!traps_.empty())
    out.leftover = std::make_shared<Trace::Leftover>(
        Trace::Leftover{std::move(variables_), std::move(functions_), std::move(traps_)});
  return out;
}

// --- output ---

void Interpreter::print(std::string_view text) { write(out_, text); }

void Interpreter::write(const Sink& sink, std::string_view text) {
  if (sink.text) {
    if (sink.text->size() < kMaxText) sink.text->append(text.substr(0, kMaxText));
    return;
  }
  std::string& partial = partial_lines_[sink.is_error];
  for (const char c : text) {
    if (c != '\n') {
      partial += c;
      continue;
    }
    lines_.push_back({now_, std::exchange(partial, {}), sink.is_error});
  }
}

void Interpreter::print_bytes(std::string_view bytes) {
  if (out_.text) return write(out_, bytes);
  flush_lines();
  lines_.push_back({now_, std::string(bytes), out_.is_error, false});
}

void Interpreter::flush_lines() {
  for (const bool is_error : {false, true})
    if (std::string& partial = partial_lines_[is_error]; !partial.empty())
      lines_.push_back({now_, std::exchange(partial, {}), is_error, false});
}

void Interpreter::complain(std::string_view command, std::string_view text) {
  write(errors_, std::string(command) + ": " + std::string(text) + "\n");
}

// --- input ---

void Interpreter::wait_for_arrival() {
  if (!input_->is_process_input) return;
  for (const Input::Arrival& arrival : world_.input.arrivals)
    if (arrival.size >= input_->at) return (void)(now_ = std::max(now_, arrival.at));
}

std::string Interpreter::read_available() {
  std::string out = input_->text.substr(input_->at);
  input_->at = input_->text.size();
  wait_for_arrival();
  starved_ = starved_ || input_->open;
  return out;
}

std::string Interpreter::read_all() {
  if (!input_->open) return read_available();
  starved_ = true;
  return {};
}

std::optional<std::string> Interpreter::read_line() {
  Source& in = *input_;
  const std::size_t end = in.text.find('\n', in.at);
  if (end == std::string::npos && in.open) starved_ = true;
  if (starved_ || in.at >= in.text.size()) return std::nullopt;
  std::string out = in.text.substr(in.at, end - in.at);
  in.at = end == std::string::npos ? in.text.size() : end + 1;
  wait_for_arrival();
  return out;
}

void Interpreter::shift_arguments(std::size_t count) {
  arguments_.erase(arguments_.begin(),
                   arguments_.begin() + static_cast<std::ptrdiff_t>(std::min(count, arguments_.size())));
}

std::string Interpreter::absolute(std::string_view path) const {
  const std::string whole = path.starts_with('/') ? std::string(path) : directory_ + "/" + std::string(path);
  std::vector<std::string_view> kept;
  for (std::string_view rest = whole; !rest.empty();) {
    const std::string_view part = rest.substr(0, rest.find('/'));
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    if (part == ".." && !kept.empty()) kept.pop_back();
    if (!part.empty() && part != "." && part != "..") kept.push_back(part);
  }
  std::string out;
  for (const std::string_view part : kept) out.append("/").append(part);
  return out.empty() ? "/" : out;
}

// --- control ---

Flow Interpreter::run(const Script& script) {
  for (std::size_t i = 0; i < script.steps.size(); ++i) {
    const Step& step = script.steps[i];
    if (step.after != Step::After::always && (step.after == Step::After::success) != (status_ == 0)) continue;
    const Flow flow = step.background ? run_background(step.pipeline) : run_pipeline(step.pipeline);
    if (flow != Flow::next) return flow;
    const bool asked =
        step.pipeline.negated || (i + 1 < script.steps.size() && script.steps[i + 1].after != Step::After::always);
    if (ends_on_failure_ && conditions_ == 0 && status_ != 0 && !asked) return Flow::exited;
  }
  return Flow::next;
}

Flow Interpreter::run_asked(const Script& script) {
  ++conditions_;
  const Flow flow = run(script);
  --conditions_;
  return flow;
}

/// Its output keeps its own times; the script continues at once. It has no input.
Flow Interpreter::run_background(const Pipeline& pipeline) {
  const auto started = now_;
  const Variables variables = variables_;
  const auto input = std::exchange(input_, closed_input({}));
  if (run_pipeline(pipeline) == Flow::for_ever) background_for_ever_ = true;
  variables_ = variables;
  input_ = input;
  now_ = started;
  status_ = 0;
  return Flow::next;
}

Flow Interpreter::run_pipeline(const Pipeline& pipeline) {
  Flow flow = Flow::next;
  std::string passed;
  const auto input = input_;
  for (std::size_t i = 0; i < pipeline.commands.size() && flow == Flow::next; ++i) {
    const bool last = i + 1 == pipeline.commands.size();
    if (i > 0) input_ = closed_input(std::move(passed));
    passed.clear();
    const Sink out = out_;
    if (!last) out_ = {&passed};
    flow = run_command(pipeline.commands[i]);
    out_ = out;
    // `exit` and the like in one of several commands end only that one.
    if (pipeline.commands.size() > 1 && !never_returns(flow)) flow = Flow::next;
  }
  input_ = input;
  if (pipeline.negated && flow == Flow::next) status_ = status_ == 0 ? 1 : 0;
  return flow;
}

Flow Interpreter::run_command(const Command& command) {
  if (++steps_ > kMaxSteps || lines_.size() > static_cast<std::size_t>(kMaxLines)) return Flow::for_ever;
  if (depth_ >= kMaxDepth) {
    complain("sh", "nested too deeply");
    status_ = 2;
    return Flow::exited;
  }
  ++depth_;
  const Flow flow = command.redirections.empty() ? run_kind(command) : run_redirected(command);
  --depth_;
  return flow;
}

struct RedirectedFiles {
  struct File {
    std::string path;
    std::unique_ptr<std::string> text;
  };
  std::vector<File> files;
};

bool Interpreter::redirect(const Command& command, RedirectedFiles& written) {
  bool good = true;
  for (const Redirection& to : command.redirections) {
    const std::string target = expand_to_text(to.target);
    const bool duplicates = to.kind == Redirection::Kind::duplicate;
    if (duplicates || target == "/dev/stdout" || target == "/dev/stderr") {
      const Sink sink = target == "2" || target == "/dev/stderr" ? errors_ : out_;
      if (to.descriptor != 2) out_ = sink;
      if (to.descriptor >= 2) errors_ = sink;
    } else if (to.kind == Redirection::Kind::read) {
      const auto content =
          target == "/dev/null" ? std::optional<std::string>("") : world_.files.read(absolute(target), now());
      if (!content) complain("sh", "can't open '" + target + "': No such file or directory"), good = false;
      input_ = closed_input(content.value_or(""));
    } else {
      std::string before;
      if (to.kind == Redirection::Kind::append) before = world_.files.read(absolute(target), now()).value_or("");
      written.files.push_back({target, std::make_unique<std::string>(std::move(before))});
      if (to.descriptor != 2) out_ = {written.files.back().text.get()};
      if (to.descriptor >= 2) errors_ = {written.files.back().text.get()};
    }
  }
  return good;
}

Flow Interpreter::run_redirected(const Command& command) {
  const Sink out = out_, errors = errors_;
  const auto input = input_;
  RedirectedFiles written;
  Flow flow = Flow::next;
  if (redirect(command, written)) {
    flow = run_kind(command);
  } else {
    status_ = 1;
  }
  out_ = out;
  errors_ = errors;
  input_ = input;
  for (RedirectedFiles::File& file : written.files) {
    if (file.path.starts_with("/dev/") || world_.files.write(absolute(file.path), std::move(*file.text), now()))
      continue;
    complain("sh", "write error: No space left on device");
    status_ = 1;
  }
  return flow;
}

Flow Interpreter::run_kind(const Command& command) {
  switch (command.kind) {
    case Command::Kind::simple:
      return run_simple(command);
    case Command::Kind::condition:
      return run_condition(command);
    case Command::Kind::loop:
      return run_loop(command);
    case Command::Kind::for_each:
      return run_for_each(command);
    case Command::Kind::choice:
      return run_choice(command);
    case Command::Kind::group:
      return run(*command.branches[0].body);
    case Command::Kind::subshell: {
      const Variables variables = variables_;
      const Flow flow = run(*command.branches[0].body);
      variables_ = variables;
      return never_returns(flow) ? flow : Flow::next;
    }
    case Command::Kind::function:
      functions_[command.name] = command.branches[0].body;
      status_ = 0;
      return Flow::next;
  }
  return Flow::next;
}

Flow Interpreter::run_simple(const Command& command) {
  Words words;
  for (const Word& word : command.words) expand(word, words);
  if (flow_out_of_word_ != Flow::next) return std::exchange(flow_out_of_word_, Flow::next);
  if (words.empty()) {
    if (!command.words.empty() || command.assignments.empty()) status_ = 0;
    for (const Assignment& assigned : command.assignments) {
      status_ = 0;
      std::string value = expand_to_text(assigned.value);
      variables_[assigned.name] = std::move(value);
    }
    return std::exchange(flow_out_of_word_, Flow::next);
  }
  const Variables before = command.assignments.empty() ? Variables() : variables_;
  for (const Assignment& assigned : command.assignments) variables_[assigned.name] = expand_to_text(assigned.value);
  const Flow flow = run_command(words);
  if (!command.assignments.empty()) variables_ = before;
  return flow;
}

Flow Interpreter::run_command(const Words& words) {
  if (functions_.contains(words[0])) return call(words[0], words);
  return run_words_as_process(words);
}

Flow Interpreter::run_words_as_process(const Words& words) {
  const auto from = [&words](std::size_t at) {
    return Words(words.begin() + static_cast<std::ptrdiff_t>(std::min(words.size(), at)), words.end());
  };
  if (const std::size_t script = script_position(words))
    return run_as_process(words[script], from(script + 2), words[1].find('e') < words[1].size() && script == 2);
  if (is_lone_shell(words)) return run_standard_input();
  const std::size_t file = file_position(words);
  if (file > 0 || words[0].find('/') != std::string::npos) {
    const auto text = world_.files.read(absolute(words[file]), now());
    const bool ends_on_failure =
        text && text->starts_with("#!") && text->substr(0, text->find('\n')).find(" -e") < text->size();
    if (text && (file > 0 || is_shell_script(*text))) return run_as_process(*text, from(file + 1), ends_on_failure);
    if (file > 0) return complain("sh", "can't open '" + words[file] + "'"), status_ = 2, Flow::next;
  }
  if (const auto flow = run_known(*this, words)) return *flow;
  return run_unknown(words[0]);
}

Flow Interpreter::run_as_process(std::string_view text, Words arguments, bool ends_on_failure) {
  const auto parsed = parse(text);
  if (!parsed) {
    complain("simhost", "the simulated shell does not understand this script: " + parsed.error().message);
    if (context_ != Context::session) return run_unknown("sh");
    return status_ = 2, Flow::next;
  }
  const bool before = std::exchange(ends_on_failure_, ends_on_failure);
  std::swap(arguments_, arguments);
  const Flow flow = run(*parsed);
  std::swap(arguments_, arguments);
  ends_on_failure_ = before;
  return never_returns(flow) ? flow : Flow::next;
}

Flow Interpreter::run_standard_input() {
  std::string pending;
  while (const auto line = read_line()) {
    pending += *line + "\n";
    const auto parsed = parse(pending);
    if (!parsed && is_incomplete(parsed.error())) continue;
    pending.clear();
    if (!parsed) {
      complain("sh", parsed.error().message);
      status_ = 2;
    } else if (const Flow flow = run(*parsed); flow != Flow::next) {
      return never_returns(flow) ? flow : Flow::next;
    }
  }
  return starved_ ? Flow::starved : Flow::next;
}

Flow Interpreter::run_unknown(const std::string& program) {
  if (unknown_program_.empty()) unknown_program_ = program;
  status_ = 0;
  if (context_ == Context::main_process) return Flow::for_ever;
  if (context_ == Context::task) now_ += world_.program_life;
  if (context_ == Context::session) {
    complain("sh", program + ": not found");
    status_ = 127;
  }
  return Flow::next;
}

Flow Interpreter::call(const std::string& name, const Words& words) {
  if (depth_ >= kMaxDepth) return complain("sh", "nested too deeply"), status_ = 2, Flow::exited;
  const std::shared_ptr<Script> body = functions_.at(name);
  Words arguments(words.begin() + 1, words.end());
  std::swap(arguments_, arguments);
  const Flow flow = run(*body);
  std::swap(arguments_, arguments);
  return flow == Flow::returned ? Flow::next : flow;
}

Flow Interpreter::run_condition(const Command& command) {
  for (const Command::Branch& branch : command.branches) {
    if (branch.condition) {
      if (const Flow flow = run_asked(*branch.condition); flow != Flow::next) return flow;
      if (status_ != 0) continue;
    }
    return run(*branch.body);
  }
  status_ = 0;
  return Flow::next;
}

Flow Interpreter::run_loop(const Command& command) {
  const Command::Branch& branch = command.branches[0];
  for (int last = 0;;) {
    if (++steps_ > kMaxSteps) return Flow::for_ever;  // `while true; do done` has no other command
    if (const Flow flow = run_asked(*branch.condition); flow != Flow::next) return flow;
    if ((status_ == 0) == command.until) {
      status_ = last;
      return Flow::next;
    }
    const Flow flow = run(*branch.body);
    last = status_;
    if (flow == Flow::broke) return Flow::next;
    if (flow != Flow::next && flow != Flow::continued) return flow;
  }
}

Flow Interpreter::run_for_each(const Command& command) {
  Words values;
  for (const Word& word : command.words) expand(word, values);
  status_ = 0;
  for (const std::string& value : values) {
    variables_[command.name] = value;
    const Flow flow = run(*command.branches[0].body);
    if (flow == Flow::broke) break;
    if (flow != Flow::next && flow != Flow::continued) return flow;
  }
  return Flow::next;
}

Flow Interpreter::run_choice(const Command& command) {
  const std::string value = expand_to_text(command.words[0]);
  for (const Command::Branch& branch : command.branches)
    for (const Word& pattern : branch.patterns)
      if (::fnmatch(expand_to_pattern(pattern).c_str(), value.c_str(), 0) == 0) return run(*branch.body);
  status_ = 0;
  return Flow::next;
}

// --- words ---

std::string Interpreter::variable(const std::string& name) const {
  if (name == "?") return std::to_string(status_);
  if (name == "#") return std::to_string(arguments_.size());
  if (name == "$" || name == "!") return "1";
  if (name == "-") return "";
  if (name == "0") return "sh";
  if (name == "PWD") return directory_;
  if (name == "HOSTNAME" && !variables_.contains(name)) return world_.hostname;
  if (name == "RANDOM") return std::to_string(world_.random->next() % 32768);
  if (name == "@" || name == "*") {
    std::string out;
    for (const std::string& argument : arguments_) out += (out.empty() ? "" : " ") + argument;
    return out;
  }
  if (name[0] >= '1' && name[0] <= '9') {
    std::size_t number = 0;
    std::from_chars(name.data(), name.data() + name.size(), number);
    return number <= arguments_.size() ? arguments_[number - 1] : "";
  }
  const auto found = variables_.find(name);
  return found == variables_.end() ? "" : found->second;
}

std::string Interpreter::captured(const Script& script) {
  std::string text;
  const Sink out = std::exchange(out_, Sink{&text});
  const Variables variables = variables_;
  if (const Flow flow = run(script); never_returns(flow)) flow_out_of_word_ = flow;
  variables_ = variables;
  out_ = out;
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

std::string Interpreter::expand_part(const Part& part) {
  switch (part.kind) {
    case Part::Kind::text:
      return part.text;
    case Part::Kind::arithmetic: {
      // Its own expansions first: $(( $RANDOM / 2 )).
      const auto parsed = parse("echo \"" + part.text + "\"");
      const std::string text = parsed ? captured(*parsed) : part.text;
      return std::to_string(arithmetic(text, variables_));
    }
    case Part::Kind::command:
      return captured(*part.script);
    case Part::Kind::variable:
      break;
  }
  std::string value = variable(part.text);
  if (part.operation == "#") return std::to_string(value.size());
  if (operand_wanted(part.operation, variables_.contains(part.text), value)) return expand_to_text(*part.operand);
  return part.operation == ":+" || part.operation == "+" ? "" : value;
}

void Interpreter::expand(const Word& word, Words& out) {
  std::string field;
  bool in_field = false;
  for (const Part& part : word.parts) {
    if (part.kind == Part::Kind::variable && part.quoted && part.text == "@") {
      for (const std::string& argument : arguments_) out.push_back(argument);
      continue;
    }
    std::string text = expand_part(part);
    if (field.size() + text.size() > kMaxText) text.resize(kMaxText - std::min(field.size(), kMaxText));
    if (part.quoted || part.kind == Part::Kind::text) {
      field += text;
      in_field = true;
      continue;
    }
    for (const char c : text) {
      if (c != ' ' && c != '\t' && c != '\n') {
        field += c;
        in_field = true;
      } else if (std::exchange(in_field, false)) {
        out.push_back(std::exchange(field, {}));
      }
    }
  }
  if (in_field) out.push_back(std::move(field));
}

std::string Interpreter::expand_to_text(const Word& word) {
  std::string out;
  for (const Part& part : word.parts) out += expand_part(part);
  if (out.size() > kMaxText) out.resize(kMaxText);
  return out;
}

std::string Interpreter::expand_to_pattern(const Word& word) {
  std::string out;
  for (const Part& part : word.parts)
    for (const char c : expand_part(part)) {
      if (part.quoted && std::string_view("*?[]\\").find(c) != std::string_view::npos) out += '\\';
      out += c;
    }
  return out;
}

// --- the interface ---

Trace run(const Words& words, World& world, Context context) { return Interpreter(world, context).run_words(words); }

bool is_lone_shell(const Words& words) {
  return !words.empty() && is_shell(words[0]) && script_position(words) == 0 && file_position(words) == 0;
}

bool is_known_program(const Words& words) {
  return !words.empty() && (is_shell(words[0]) || is_table_program(words[0]));
}

Conversation::Conversation(World& world) : shell_(std::make_unique<Interpreter>(world, Context::session)) {}
Conversation::~Conversation() = default;
int Conversation::status() const { return shell_->status(); }

Trace Conversation::run_line(const std::string& line) {
  pending_ += line + "\n";
  const auto parsed = parse(pending_);
  if (!parsed && shell::is_incomplete(parsed.error())) return {};
  pending_.clear();
  if (parsed) return shell_->run_line(*parsed);
  shell_->set_status(2);
  Trace out;
  out.lines.push_back({{}, "sh: " + parsed.error().message, true});
  return out;
}

std::optional<Trace> run_handler(const Trace& before, const std::string& signal, World& world) {
  if (!before.leftover || !before.leftover->traps.contains(signal)) return std::nullopt;
  return Interpreter(world, Context::main_process).run_handler(*before.leftover, *before.leftover->traps.at(signal));
}

}  // namespace sublet::simhost::shell
