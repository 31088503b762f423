// Syntax: the shell language of simulated containers; a script is a tree of plain data.
//
// Understood: simple commands with assignments, quotes and redirections; `;`, `&`, `&&`, `||`, `|`, `!`; `if`, `while`,
// `until`, `for`, `case`, `{ }`, `( )`, functions; `$NAME`, `${NAME}` with `:-`, `-`, `:+`, `+`, `#`, `$(...)`,
// backquotes, `$((...))`; `[[ ... ]]`. Not understood: here-documents, arrays, brace expansion, process substitution;
// the error of parse() names it and the line. Pure functions; a Script is immutable after parse() and may be shared.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sublet/base/status.h"

namespace sublet::simhost::shell {

struct Script;
struct Word;

/// A piece of a word. `quoted`: it is not split at blanks and matches itself only.
struct Part {
  enum class Kind { text, variable, command, arithmetic } kind = Kind::text;
  bool quoted = false;
  std::string text{};               // the text, the variable's name, or the arithmetic expression
  std::string operation{};          // of a variable: "", "#" (length), ":-", "-", ":+", "+"
  std::shared_ptr<Word> operand{};  // of the operation
  std::shared_ptr<Script> script{};
};
struct Word {
  std::vector<Part> parts;
};

struct Redirection {
  enum class Kind { read, write, append, duplicate } kind = Kind::write;
  int descriptor = 1;  // 0 in, 1 out, 2 errors, 3 out and errors both
  Word target;
};
struct Assignment {
  std::string name;
  Word value;
};

struct Command {
  enum class Kind { simple, condition, loop, for_each, choice, group, subshell, function } kind = Kind::simple;
  std::vector<Assignment> assignments{};
  std::vector<Word> words{};  // simple: the command; for_each: what is gone through; choice: the one that is matched
  std::vector<Redirection> redirections{};
  std::string name{};  // for_each: the variable; function: its name
  bool until = false;  // loop: ends when its condition holds
  struct Branch {
    std::vector<Word> patterns{};         // choice
    std::shared_ptr<Script> condition{};  // condition and loop; null: else
    std::shared_ptr<Script> body{};
  };
  std::vector<Branch> branches{};
};
struct Pipeline {
  bool negated = false;
  std::vector<Command> commands;
};
struct Step {
  enum class After { always, success, failure } after = After::always;
  bool background = false;
  Pipeline pipeline;
};
struct Script {
  std::vector<Step> steps;
};

/// bad_request with the line and what is not understood there.
Result<Script> parse(std::string_view script);
/// Returns true if this error of parse() may go away when more lines follow.
bool is_incomplete(const Status& error);

}  // namespace sublet::simhost::shell
