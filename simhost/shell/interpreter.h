// Interpreter: the run of one script. commands.cpp has the commands; shell.h is the interface for other folders.
//
// Bounded: kMaxSteps commands and kMaxLines lines; a script that exceeds them counts as one that runs for ever.
#pragma once

#include "simhost/shell/shell.h"

namespace sublet::simhost::shell {

struct RedirectedFiles;

/// How control leaves a command.
enum class Flow { next, exited, for_ever, starved, broke, continued, returned };
/// The process does not come back from the command.
constexpr bool never_returns(Flow flow) { return flow == Flow::for_ever || flow == Flow::starved; }

class Interpreter {
 public:
  Interpreter(World& world, Context context)
      : world_(world), context_(context), variables_(world.variables), input_(process_input(world)) {}

  Trace run_script(const Script& script);
  Trace run_words(const Words& words);
  Trace run_handler(const Trace::Leftover& before, const Script& handler);
  /// One of several: the shell's state stays.
  Trace run_line(const Script& script);

  // --- for commands ---

  /// Writes text to standard output: the container's log, a file, the next command of a pipeline.
  void print(std::string_view text);
  /// The same for bytes that are no lines.
  void print_bytes(std::string_view bytes);
  /// Writes "COMMAND: TEXT" to standard error.
  void complain(std::string_view command, std::string_view text);

  // Standard input. Each sets is_starved() when more has to arrive; what it returns has no meaning then.
  /// All that is left.
  std::string read_all();
  /// What has arrived; starved after that while more may arrive.
  std::string read_available();
  /// The next line without its end; nullopt at the end of the input.
  std::optional<std::string> read_line();
  bool is_starved() const { return starved_; }
  /// Counts the work on so many bytes as steps, so that a loop over large files is bounded too.
  void charge(std::size_t bytes) { steps_ += static_cast<int>(bytes >> 14); }
  void set_status(int status) { status_ = status; }
  int status() const { return status_; }
  WallTime now() const { return world_.start + now_; }
  void sleep(std::chrono::milliseconds time) { now_ += time; }
  World& world() { return world_; }
  Variables& variables() { return variables_; }
  void shift_arguments(std::size_t count);
  void set_trap(const std::string& signal, std::shared_ptr<Script> handler) { traps_[signal] = std::move(handler); }
  /// `set -e`: a command that fails ends the script, except in a condition.
  void end_on_failure(bool wanted) { ends_on_failure_ = wanted; }
  /// Returns true if something that was started in the background runs for ever.
  bool waits_for_ever() const { return background_for_ever_; }
  Flow run_command(const Words& words);
  Flow run(const Script& script);
  /// The path from the root, without `.` and `..`.
  std::string absolute(std::string_view path) const;
  std::string& directory() { return directory_; }

 private:
  static constexpr int kMaxSteps = 5000, kMaxLines = 2000, kMaxDepth = 48;
  static constexpr std::size_t kMaxText = 64 * 1024;  // of one word, and of what is captured

  /// Where a command writes to.
  struct Sink {
    std::string* text = nullptr;  // a file or a captured text; null: what the process itself prints
    bool is_error = false;
  };
  /// Where a command reads from.
  struct Source {
    std::string text;
    std::size_t at = 0;
    bool open = false;
    bool is_process_input = false;  // its parts arrive at World::input.arrivals
  };
  static std::shared_ptr<Source> process_input(const World& world) {
    return std::make_shared<Source>(Source{world.input.text, 0, world.input.open, true});
  }
  static std::shared_ptr<Source> closed_input(std::string text) {
    return std::make_shared<Source>(Source{std::move(text), 0, false, false});
  }

  Flow run_words_as_process(const Words& words);
  /// A shell's process: `exit` ends it, not its parent.
  Flow run_as_process(std::string_view text, Words arguments, bool ends_on_failure);
  Flow run_standard_input();
  Flow run_unknown(const std::string& program);
  /// Sets the targets of the command's redirections; false when a file cannot be read.
  bool redirect(const Command& command, RedirectedFiles& written);
  /// Advances the script's clock to the moment when what was read had arrived.
  void wait_for_arrival();
  void write(const Sink& sink, std::string_view text);
  /// Runs a condition: a failure in it ends nothing.
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
  void flush_lines();

  World& world_;
  const Context context_;
  Variables variables_;
  Words arguments_;  // $1 and on
  std::map<std::string, std::shared_ptr<Script>> functions_, traps_;
  std::string directory_ = "/";
  std::shared_ptr<Source> input_;
  Sink out_{}, errors_{nullptr, true};
  std::string partial_lines_[2];  // of standard output and standard error
  std::string unknown_program_;
  bool starved_ = false;
  std::chrono::milliseconds now_{0};
  std::vector<Line> lines_;
  Flow flow_out_of_word_ = Flow::next;  // of a command substitution that never returns
  int status_ = 0, steps_ = 0, depth_ = 0;
  int conditions_ = 0;  // nesting depth of conditions
  bool background_for_ever_ = false, ends_on_failure_ = false;
};

/// Runs a command of the table; nullopt when the name is not in it.
std::optional<Flow> run_known(Interpreter& shell, const Words& words);
/// Returns true if the table has a program of that name, which is no builtin of a shell.
bool is_table_program(std::string_view name);
/// The value of `$((...))`; 0 for what is no number.
std::int64_t arithmetic(std::string_view expression, const Variables& variables);

}  // namespace sublet::simhost::shell
