#include <algorithm>

#include "patches/cel/ast.h"
#include "patches/cel/checker.h"
#include "patches/cel/cost.h"
#include "patches/cel/evaluator.h"
#include "patches/cel/parser.h"
#include "sublet/patches/cel.h"

namespace sublet::patches::cel {

void Environment::declare(std::string name, TypeRef type, TypeRef shape) {
  if (!shape) shape = type;
  variables_.push_back({std::move(name), std::move(type), std::move(shape), true});
}

void Environment::close(std::string name, std::string what) { closed_.push_back({std::move(name), std::move(what)}); }

void Environment::set_visible(std::string_view name, bool visible) {
  for (Variable& variable : variables_)
    if (variable.name == name) variable.visible = visible;
}

int Environment::slot_of(std::string_view name) const {
  for (std::size_t i = 0; i < variables_.size(); ++i)
    if (variables_[i].visible && variables_[i].name == name) return static_cast<int>(i);
  return -1;
}

const Environment::Closed* Environment::closed(std::string_view name) const {
  for (const Closed& entry : closed_)
    if (entry.name == name) return &entry;
  return nullptr;
}

struct Program::Facts {
  std::vector<std::string> variables;
  std::vector<TypeRef> types;  // of all variables: values point to them
  int slots = 0;
  Library library = Library::templates;
  CostEstimate cost;
};

tl::expected<Program, std::vector<Problem>> Program::compile(std::string_view source, const Environment& environment) {
  Program program;
  program.source_ = std::make_shared<const std::string>(source);
  auto root = parse(*program.source_, environment);
  if (!root) return tl::unexpected(std::move(root.error()));
  CheckResult checked = check(**root, environment);
  if (!checked.problems.empty()) return tl::unexpected(std::move(checked.problems));
  if (environment.library() == Library::kubernetes && environment.minor() >= 29)
    if (auto problems = validate(**root); !problems.empty()) return tl::unexpected(std::move(problems));
  std::vector<Problem> problems;
  fold(**root, environment.library(), problems);
  if (!problems.empty()) return tl::unexpected(std::move(problems));
  auto facts = std::make_shared<Facts>();
  facts->variables = std::move(checked.variables);
  facts->slots = checked.slots;
  facts->library = environment.library();
  for (const auto& variable : environment.variables()) facts->types.push_back(variable.shape);
  // Templates have no sizes to go by, and nobody asks.
  if (environment.library() != Library::templates) facts->cost = cel::estimate_cost(**root, environment);
  program.root_ = std::move(*root);
  program.facts_ = std::move(facts);
  return program;
}

Evaluation Program::run(const Activation& activation, std::uint64_t budget) const {
  return cel::evaluate(*root_, activation, facts_->slots, facts_->library, budget);
}

Value Program::evaluate(const Activation& activation, std::uint64_t budget) const {
  return run(activation, budget).value;
}

Kind Program::type() const { return root_->type->kind; }
const Type& Program::full_type() const { return *root_->type; }
CostEstimate Program::estimate_cost() const { return facts_->cost; }

bool Program::reads(std::string_view variable) const {
  return std::find(facts_->variables.begin(), facts_->variables.end(), variable) != facts_->variables.end();
}

Place place_of(std::string_view source, int offset) {
  Place place;
  const std::string_view before = source.substr(0, static_cast<std::size_t>(std::max(offset, 0)));
  for (const char c : before) {
    if (c == '\n') {
      ++place.line;
      place.column = 1;
    } else if ((static_cast<unsigned char>(c) & 0xc0) != 0x80) {
      ++place.column;
    }
  }
  return place;
}

std::string display_text(std::vector<Problem> problems, std::string_view source) {
  std::stable_sort(problems.begin(), problems.end(),
                   [](const Problem& a, const Problem& b) { return a.offset < b.offset; });
  std::string text;
  for (const Problem& problem : problems) {
    if (!text.empty()) text += '\n';
    if (problem.offset < 0) {
      text += problem.message;
      continue;
    }
    Place place = place_of(source, problem.offset);
    if (source.empty()) place.column = 0;  // cel-go's place of an end that is all there is
    text +=
        "ERROR: <input>:" + std::to_string(place.line) + ':' + std::to_string(place.column) + ": " + problem.message;
    const auto at = std::min(static_cast<std::size_t>(std::max(problem.offset, 0)), source.size());
    const std::size_t start = at == 0 ? 0 : source.rfind('\n', at - 1) + 1;
    std::string line(source.substr(start, source.find('\n', at) - start));
    if (source.empty() || line.size() > 16384) continue;
    std::replace(line.begin(), line.end(), '\t', ' ');
    text += "\n | " + line + "\n | ";
    // A character of several bytes is as wide as two in most places: the wide forms of `.` and `^` stand below it.
    for (std::size_t i = start; i < at; ++i) {
      const auto byte = static_cast<unsigned char>(source[i]);
      if (byte < 0x80)
        text += '.';
      else if (byte >= 0xc0)
        text += "\uff0e";
    }
    text += at < source.size() && static_cast<unsigned char>(source[at]) >= 0xc0 ? "\uff3e" : "^";
  }
  return text;
}

}  // namespace sublet::patches::cel
