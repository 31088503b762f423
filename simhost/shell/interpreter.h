// Interpreter: the run of one script. commands.cpp is what it can call, shell.h what others see of it.
//
// Bounded: kMaxSteps commands and kMaxLines lines; a script that goes on beyond them is one that runs for ever.
#pragma once

#include "simhost/shell/shell.h"

namespace sublet::simhost::shell {

/// How control leaves a command.
enum class Flow { next, exited, for_ever, broke, continued, returned };

class Interpreter {
 public:
  Interpreter(World& world, Context context)
      : world_(world), context_(context), variables_(world.variables), input_(world.input) {}

  Trace run_script(const Script& script);
  Trace run_words(const Words& words);
  Trace run_handler(const Trace::Leftover& before, const Script& handler);
  /// One of several: the shell's state stays.
  Trace run_line(const Script& script);

  // --- for commands ---

  /// To standard output: the container's log, or whoever captures it.
  void print(std::string_view text);
  /// "sh: NAME: TEXT" to the errors.
  void complain(std::string_view command, std::string_view text);
  const std::string& input() const { return input_; }
  void set_status(int status) { status_ = status; }
  int status() const { return status_; }
  WallTime now() const { return world_.start + now_; }
  void sleep(std::chrono::milliseconds time) { now_ += time; }
  World& world() { return world_; }
  Variables& variables() { return variables_; }
  void shift_arguments(std::size_t count);
  void set_trap(const std::string& signal, std::shared_ptr<Script> handler) { traps_[signal] = std::move(handler); }
  /// As `set -e` says: a command that fails ends the script, but where its failure is asked for.
  void end_on_failure(bool wanted) { ends_on_failure_ = wanted; }
  /// Whether something that was started in the background goes on for ever.
  bool waits_for_ever() const { return background_for_ever_; }
  Flow run_command(const Words& words);
  Flow run(const Script& script);
  /// A path as the working directory makes it absolute.
  std::string absolute(std::string_view path) const;
  std::string& directory() { return directory_; }

 private:
  static constexpr int kMaxSteps = 5000, kMaxLines = 2000, kMaxDepth = 48;
  static constexpr std::size_t kMaxText = 64 * 1024;  // of one word, and of what is captured

  /// The status of a condition, in which a failure ends nothing.
  Flow run_asked(const Script& script);
  Flow run_pipeline(const Pipeline& pipeline);
  Flow run_background(const Pipeline& pipeline);
  Flow run_command(const Command& command);
  Flow run_redirected(const Command& command);
  Flow run_kind(const Command& command);
  Flow run_simple(const Command& command);
  Flow run_condition(const Command& command);
  Flow run_loop(const Command& command);
  Flow run_for_each(const Command& command);
  Flow run_choice(const Command& command);
  Flow call(const std::string& name, const Words& words);
  Trace finish(Flow flow);

  /// Fields of a word: split at blanks where it is not quoted.
  void expand(const Word& word, Words& out);
  std::string expand_to_text(const Word& word);
  /// A shell pattern: what was quoted is escaped for fnmatch.
  std::string expand_to_pattern(const Word& word);
  std::string expand_part(const Part& part);
  std::string variable(const std::string& name) const;
  std::string captured(const Script& script);
  void flush_line();

  World& world_;
  const Context context_;
  Variables variables_;
  Words arguments_;  // $1 and on
  std::map<std::string, std::shared_ptr<Script>> functions_, traps_;
  std::string directory_ = "/";
  std::string input_;
  std::string* out_ = nullptr;     // where output goes; null: the log
  std::string* errors_ = nullptr;  // where errors go; null: the log
  std::string partial_;            // of a line of the log
  std::chrono::milliseconds now_{0};
  std::vector<Line> lines_;
  Flow flow_out_of_word_ = Flow::next;  // a command substitution that never ends, ends the command with it
  int status_ = 0, steps_ = 0, depth_ = 0;
  int conditions_ = 0;  // within how many, where a failure ends nothing
  bool background_for_ever_ = false, ends_on_failure_ = false;
};

/// Runs one of the known commands; nullopt when the name is none.
std::optional<Flow> run_known(Interpreter& shell, const Words& words);
/// The value of `$((...))`; 0 for what is no number.
std::int64_t arithmetic(std::string_view expression, const Variables& variables);

}  // namespace sublet::simhost::shell
