#include "patches/cel/program.h"

#include "patches/cel/ast.h"
#include "patches/cel/checker.h"
#include "patches/cel/evaluator.h"
#include "patches/cel/parser.h"

namespace sublet::patches::cel {

void Environment::declare(std::string name, Kind type) { variables_.push_back({std::move(name), type, true}); }

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

tl::expected<Program, std::vector<Problem>> Program::compile(std::string_view source, const Environment& environment) {
  Program program;
  program.source_ = std::make_shared<const std::string>(source);
  auto root = parse(*program.source_);
  if (!root) return tl::unexpected(std::vector<Problem>{std::move(root.error())});
  std::vector<Problem> problems = check(**root, environment);
  if (!problems.empty()) return tl::unexpected(std::move(problems));
  program.root_ = std::move(*root);
  return program;
}

Value Program::evaluate(const Activation& activation, std::size_t cost_max) const {
  return cel::evaluate(*root_, activation, cost_max);
}

Kind Program::type() const { return root_->type; }

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

}  // namespace sublet::patches::cel
