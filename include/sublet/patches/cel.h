// CEL: expressions of templates, of CustomResourceDefinitions' validation rules and (later) of admission policies.
//
// An Environment says which names and libraries an expression may use. Program::compile() parses and checks it, so that
// unknown names, unknown functions and type errors are found before anything runs, in cel-go's words; estimate_cost()
// says what a run can cost at most; run() is pure, bounded by a budget, and says what it did cost. Costs are cel-go's
// and Kubernetes' numbers, both the estimated and the actual ones.
//
// How a CRD's rule is compiled and run:
//   const TypeRef self = Type::of_schema(schema_node, resource_root);      // kept as long as programs and values
//   Environment env(Library::kubernetes); env.declare("self", self); env.declare("oldSelf", self);
//     (optionalOldSelf: env.declare("oldSelf", Type::optional(self), self))
//   auto program = Program::compile(rule, env);  -> on failure display_text(program.error(), rule)
//   program->type() must be boolean (messageExpression: string); program->estimate_cost().max against the limits
//   program->reads("oldSelf"): a transition rule
//   Evaluation out = program->run(activation, budget): out.value is a bool or an error, out.cost goes off the budget
// Threads: an Environment is built by one thread, then only read. A Program is immutable and may be run by many threads
// at once. Ownership: a Program keeps its source and the types it was compiled with; it does not keep its Environment.
#pragma once

#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sublet/patches/cel_type.h"
#include "sublet/patches/cel_value.h"

namespace sublet::patches::cel {

struct Node;

/// Which functions there are, and how strict the checker is.
enum class Library : std::uint8_t {
  templates,   // lists and maps of mixed items; math, base64, cel.bind; messages with suggestions
  kubernetes,  // what kube-apiserver 1.36 gives to CRDs and policies; items of a literal have one type
  standard,    // the language and all of its extensions, for the conformance tests
};

/// The names that an expression may use. A name may be qualified ("params.queue"): the longest match wins, as in CEL.
class Environment {
 public:
  /// `minor`: of the Kubernetes release whose libraries are offered (Library::kubernetes).
  explicit Environment(Library library = Library::templates, int minor = 36) : library_(library), minor_(minor) {}

  /// Declares a variable; its slot is the order of declaration. `shape`: where the sizes of its parts are taken from,
  /// its own type unless given.
  void declare(std::string name, TypeRef type, TypeRef shape = nullptr);
  void declare(std::string name, Kind type = Kind::dyn) { declare(std::move(name), Type::of(type)); }
  /// Says that all members of `name` are declared, so any other one is a mistake. `what` names one in messages.
  void close(std::string name, std::string what);
  /// Keeps the slot of a variable, but lets no expression name it.
  void hide(std::string_view name) { set_visible(name, false); }
  void show(std::string_view name) { set_visible(name, true); }
  /// Lets expressions make patches, as mutating admission policies do: `Object{spec: Object.spec{...}}`, whose values
  /// are maps, `JSONPatch{op: "add", path: "/a", value: 1}`, and jsonpatch.escapeKey(). Types named so are objects.
  void offer_patches() { patches_ = true; }
  bool offers_patches() const { return patches_; }
  /// Lets expressions of Library::kubernetes say cel.bind(), as those about devices can.
  void offer_bindings() { bindings_ = true; }
  bool offers_bindings() const { return bindings_; }
  /// The namespace that names are looked up in first (`a.b`: a.b.x, a.x, x).
  void set_container(std::string name) { container_ = std::move(name); }

  struct Variable {
    std::string name;
    TypeRef type;
    TypeRef shape;
    bool visible = true;
  };
  struct Closed {
    std::string name;
    std::string what;
  };
  Library library() const { return library_; }
  int minor() const { return minor_; }
  const std::string& container() const { return container_; }
  const std::vector<Variable>& variables() const { return variables_; }
  int slot_of(std::string_view name) const;  // -1: not declared
  const Closed* closed(std::string_view name) const;

 private:
  void set_visible(std::string_view name, bool visible);

  Library library_;
  int minor_;
  bool patches_ = false;
  bool bindings_ = false;
  std::string container_;
  std::vector<Variable> variables_;
  std::vector<Closed> closed_;
};

/// Gives the variables their values. Asked again each time a variable is read.
class Activation {
 public:
  virtual ~Activation() = default;
  virtual Value get(int slot) const = 0;
};

/// Values in the order of declaration.
class ValueActivation final : public Activation {
 public:
  explicit ValueActivation(std::vector<Value> values) : values_(std::move(values)) {}
  Value get(int slot) const override { return values_[static_cast<std::size_t>(slot)]; }

 private:
  std::vector<Value> values_;
};

/// What is wrong with a source, and where (byte offset; -1: nowhere in particular).
struct Problem {
  int offset = 0;
  std::string message;
};
/// As cel-go shows them: "ERROR: <input>:1:5: undeclared reference to 'x' (in container '')\n | 1 + x\n | ....^".
std::string display_text(std::vector<Problem> problems, std::string_view source);

/// From the least to the most that a run can cost; UINT64_MAX: without bound.
struct CostEstimate {
  std::uint64_t min = 0;
  std::uint64_t max = 0;
};

// Kubernetes' limits (k8s.io/apiserver/pkg/apis/cel, k8s.io/apiextensions-apiserver).
inline constexpr std::uint64_t kRunCostMax = 1'000'000;               // of one run
inline constexpr std::uint64_t kObjectCostMax = 10'000'000;           // of all rules over one object
inline constexpr std::uint64_t kRuleEstimateMax = 10'000'000;         // of one rule of a CRD, estimated
inline constexpr std::uint64_t kDefinitionEstimateMax = 100'000'000;  // of all rules of a CRD, estimated

struct Evaluation {
  Value value;  // an error says what went wrong and where
  std::uint64_t cost = 0;
  bool over_budget = false;  // the value is then the error "operation cancelled: actual cost limit exceeded"
};

class Program {
 public:
  static constexpr std::uint64_t kCostMax = kRunCostMax;

  /// All problems at once, except that a syntax error hides the checker's.
  static tl::expected<Program, std::vector<Problem>> compile(std::string_view source, const Environment& environment);

  Evaluation run(const Activation& activation, std::uint64_t budget = kCostMax) const;
  /// run() where only the value matters.
  Value evaluate(const Activation& activation, std::uint64_t budget = kCostMax) const;

  /// Static type; dyn when it is only known at run time. An object's is Kind::object.
  Kind type() const;
  const Type& full_type() const;
  const std::string& source() const { return *source_; }
  /// What a run costs, by the sizes that the variables' types allow.
  CostEstimate estimate_cost() const;
  /// Does it name this variable?
  bool reads(std::string_view variable) const;

 private:
  Program() = default;
  struct Facts;
  std::shared_ptr<const std::string> source_;
  std::shared_ptr<const Node> root_;
  std::shared_ptr<const Facts> facts_;
};

/// 1-based line and column (in characters) of an offset.
struct Place {
  int line = 1;
  int column = 1;
};
Place place_of(std::string_view source, int offset);

}  // namespace sublet::patches::cel
