// Program: a compiled CEL expression. compile() parses and checks it against an Environment, so that unknown names,
// unknown functions and plain type errors are found before anything runs; evaluate() is pure and bounded.
// Threads: a Program is immutable and may be evaluated by many threads at once.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "patches/cel/lexer.h"
#include "patches/cel/value.h"

namespace sublet::patches::cel {

struct Node;

/// The names that an expression may use. A name may be qualified ("params.queue"): the longest match wins, as in CEL.
class Environment {
 public:
  /// Declares a variable; its slot is the order of declaration.
  void declare(std::string name, Kind type = Kind::dyn);
  /// Says that all members of `name` are declared, so any other one is a mistake. `what` names one in messages.
  void close(std::string name, std::string what);
  /// Keeps the slot of a variable, but lets no expression name it.
  void hide(std::string_view name) { set_visible(name, false); }
  void show(std::string_view name) { set_visible(name, true); }

  struct Variable {
    std::string name;
    Kind type;
    bool visible = true;
  };
  struct Closed {
    std::string name;
    std::string what;
  };
  const std::vector<Variable>& variables() const { return variables_; }
  int slot_of(std::string_view name) const;  // -1: not declared
  const Closed* closed(std::string_view name) const;

 private:
  void set_visible(std::string_view name, bool visible);

  std::vector<Variable> variables_;
  std::vector<Closed> closed_;
};

/// Gives the variables their values.
class Activation {
 public:
  virtual ~Activation() = default;
  virtual Value get(int slot) const = 0;
};

class Program {
 public:
  static constexpr std::size_t kCostMax = 1'000'000;

  /// All problems at once, except that a syntax error is the only one reported.
  static tl::expected<Program, std::vector<Problem>> compile(std::string_view source, const Environment& environment);

  /// The result; an error value says what went wrong and where.
  Value evaluate(const Activation& activation, std::size_t cost_max = kCostMax) const;
  /// Static type; dyn when it is only known at run time.
  Kind type() const;
  const std::string& source() const { return *source_; }

 private:
  Program() = default;
  std::shared_ptr<const std::string> source_;
  std::shared_ptr<const Node> root_;
};

/// 1-based line and column (in characters) of an offset.
struct Place {
  int line = 1;
  int column = 1;
};
Place place_of(std::string_view source, int offset);

}  // namespace sublet::patches::cel
