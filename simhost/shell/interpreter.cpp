#include "simhost/shell/interpreter.h"

#include <fnmatch.h>

#include <charconv>

namespace sublet::simhost::shell {
namespace {

bool is_shell(std::string_view name) {
  name = name.substr(name.rfind('/') + 1);
  return name == "sh" || name == "bash" || name == "ash" || name == "dash";
}

/// The position of SCRIPT in `sh [-eu...] -c SCRIPT`; 0 when it is not that.
std::size_t script_position(const Words& words) {
  if (words.empty() || !is_shell(words[0])) return 0;
  for (std::size_t i = 1; i + 1 < words.size() && words[i].starts_with('-'); ++i)
    if (words[i].ends_with('c')) return i + 1;
  return 0;
}

/// Of ${NAME:-x} and its like: whether the operand takes the variable's place.
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
    complain("simhost", "this would go on for ever");
    status_ = 130;
  }
  flush_line();
  Trace out;
  out.lines = std::exchange(lines_, {});
  if (flow == Flow::exited) out.end = End{now_, status_};
  return out;
}

Trace Interpreter::finish(Flow flow) {
  flush_line();
  Trace out;
  out.lines = std::move(lines_);
  if (flow != Flow::for_ever) out.end = End{now_, status_};
  out.background = background_for_ever_;
  if (!traps_.empty())
    out.leftover = std::make_shared<Trace::Leftover>(
        Trace::Leftover{std::move(variables_), std::move(functions_), std::move(traps_)});
  return out;
}

// --- output ---

void Interpreter::print(std::string_view text) {
  if (out_) {
    if (out_->size() < kMaxText) out_->append(text.substr(0, kMaxText));
    return;
  }
  for (const char c : text) {
    if (c != '\n') {
      partial_ += c;
      continue;
    }
    lines_.push_back({now_, std::move(partial_)});
    partial_.clear();
  }
}

void Interpreter::flush_line() {
  if (partial_.empty()) return;
  lines_.push_back({now_, std::move(partial_)});
  partial_.clear();
}

void Interpreter::complain(std::string_view command, std::string_view text) {
  std::string* const out = std::exchange(out_, errors_);
  print(std::string(command) + ": " + std::string(text) + "\n");
  out_ = out;
}

void Interpreter::shift_arguments(std::size_t count) {
  arguments_.erase(arguments_.begin(),
                   arguments_.begin() + static_cast<std::ptrdiff_t>(std::min(count, arguments_.size())));
}

std::string Interpreter::absolute(std::string_view path) const {
  return path.starts_with('/') ? std::string(path) : directory_ + "/" + std::string(path);
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

/// Its output comes with its own times; the script goes on at once.
Flow Interpreter::run_background(const Pipeline& pipeline) {
  const auto started = now_;
  const Variables variables = variables_;
  if (run_pipeline(pipeline) == Flow::for_ever) background_for_ever_ = true;
  variables_ = variables;
  now_ = started;
  status_ = 0;
  return Flow::next;
}

Flow Interpreter::run_pipeline(const Pipeline& pipeline) {
  Flow flow = Flow::next;
  std::string passed;
  const std::string input = input_;
  for (std::size_t i = 0; i < pipeline.commands.size() && flow == Flow::next; ++i) {
    const bool last = i + 1 == pipeline.commands.size();
    if (i > 0) input_ = std::move(passed);
    passed.clear();
    std::string* const out = out_;
    if (!last) out_ = &passed;
    flow = run_command(pipeline.commands[i]);
    out_ = out;
    // What one of several does to control is its own, but that it never ends.
    if (pipeline.commands.size() > 1 && flow != Flow::for_ever) flow = Flow::next;
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

Flow Interpreter::run_redirected(const Command& command) {
  std::string* const out = out_;
  std::string* const errors = errors_;
  const std::string input = input_;
  struct Written {
    std::string path;
    std::unique_ptr<std::string> text;
  };
  std::vector<Written> files;
  bool good = true;
  for (const Redirection& to : command.redirections) {
    const std::string target = expand_to_text(to.target);
    if (to.kind == Redirection::Kind::duplicate) {
      if (to.descriptor == 2 && target == "1") errors_ = out_;
      if (to.descriptor == 1 && target == "2") out_ = errors_;
    } else if (to.kind == Redirection::Kind::read) {
      const auto content = world_.files.read(absolute(target), now());
      if (!content) complain("sh", "can't open '" + target + "': No such file or directory"), good = false;
      input_ = content.value_or("");
    } else {
      std::string before;
      if (to.kind == Redirection::Kind::append) before = world_.files.read(absolute(target), now()).value_or("");
      files.push_back({target, std::make_unique<std::string>(std::move(before))});
      if (to.descriptor != 2) out_ = files.back().text.get();
      if (to.descriptor >= 2) errors_ = files.back().text.get();
    }
  }
  Flow flow = Flow::next;
  if (good) {
    flow = run_kind(command);
  } else {
    status_ = 1;
  }
  for (Written& file : files)
    if (!file.path.starts_with("/dev/")) world_.files.write(absolute(file.path), std::move(*file.text), now());
  out_ = out;
  errors_ = errors;
  input_ = input;
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
      return flow == Flow::for_ever ? flow : Flow::next;
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
  if (const std::size_t script = script_position(words)) {
    const auto parsed = parse(words[script]);
    if (!parsed) {
      // Said where a person looks; the container then runs on, as one whose program is not known.
      complain("simhost", "the simulated shell does not understand this script: " + parsed.error().message);
      if (context_ == Context::session) status_ = 2;
      return context_ == Context::main_process ? Flow::for_ever : Flow::next;
    }
    Words arguments(words.begin() + static_cast<std::ptrdiff_t>(std::min(words.size(), script + 2)), words.end());
    const bool before = std::exchange(ends_on_failure_, words[1].find('e') < words[1].size() && script == 2);
    std::swap(arguments_, arguments);
    const Flow flow = run(*parsed);
    std::swap(arguments_, arguments);
    ends_on_failure_ = before;
    // Of the process itself `exit` is the end; of one that it started it is that one's.
    return flow == Flow::for_ever ? flow : Flow::next;
  }
  if (functions_.contains(words[0])) return call(words[0], words);
  if (const auto flow = run_known(*this, words)) return *flow;
  if (context_ == Context::main_process) return Flow::for_ever;
  status_ = 0;
  if (context_ == Context::session) {
    complain("sh", words[0] + ": not found");
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
  std::string* const out = std::exchange(out_, &text);
  const Variables variables = variables_;
  if (run(script) == Flow::for_ever) flow_out_of_word_ = Flow::for_ever;
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

// --- what others see ---

Trace run(const Words& words, World& world, Context context) { return Interpreter(world, context).run_words(words); }

Conversation::Conversation(World& world) : shell_(std::make_unique<Interpreter>(world, Context::session)) {}
Conversation::~Conversation() = default;
int Conversation::status() const { return shell_->status(); }

Trace Conversation::say(const std::string& line) {
  const auto parsed = parse(line);
  if (parsed) return shell_->run_line(*parsed);
  shell_->set_status(2);
  return {.lines = {{{}, "sh: " + parsed.error().message}}, .end = {}, .background = false, .leftover = {}};
}

std::optional<Trace> run_handler(const Trace& before, const std::string& signal, World& world) {
  if (!before.leftover || !before.leftover->traps.contains(signal)) return std::nullopt;
  return Interpreter(world, Context::main_process).run_handler(*before.leftover, *before.leftover->traps.at(signal));
}

}  // namespace sublet::simhost::shell
