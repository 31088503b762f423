#include "patches/cel/unifier.h"

#include <algorithm>

namespace sublet::patches::cel {

namespace {

bool is_dyn_or_error(const Type& type) { return type.kind == Kind::dyn || type.kind == Kind::error; }

bool composed(Kind kind) {
  return kind == Kind::list || kind == Kind::map || kind == Kind::optional || kind == Kind::type;
}

// null stands for a missing one of these.
bool takes_null(const Type& type) {
  switch (type.kind) {
    case Kind::boolean:
    case Kind::integer:
    case Kind::uinteger:
    case Kind::floating:
    case Kind::string:
    case Kind::bytes:
    case Kind::list:
    case Kind::map:
    case Kind::type:
      return false;
    default:
      return true;
  }
}

bool less_specific(const Type& a, const Type& b) {
  if (a.kind == Kind::dyn || a.kind == Kind::parameter) return true;
  if (b.kind == Kind::dyn || b.kind == Kind::parameter) return false;
  if (a.kind != b.kind) return false;
  if (a.kind == Kind::type) return true;
  if (!composed(a.kind)) return same_type(a, b);
  for (std::size_t i = 0; i < a.parameters.size(); ++i)
    if (!less_specific(*a.parameters[i], *b.parameters[i])) return false;
  return true;
}

}  // namespace

bool same_type(const Type& a, const Type& b) {
  if (&a == &b) return true;
  if (a.kind != b.kind || a.parameters.size() != b.parameters.size()) return false;
  if ((a.kind == Kind::object || a.kind == Kind::parameter) && a.name != b.name) return false;
  for (std::size_t i = 0; i < a.parameters.size(); ++i)
    if (!same_type(*a.parameters[i], *b.parameters[i])) return false;
  return true;
}

TypeRef most_general(const TypeRef& a, const TypeRef& b) { return less_specific(*a, *b) ? a : b; }

bool Unifier::assignable(const TypeRef& a, const TypeRef& b) {
  changes_.clear();
  if (unify(a, b)) return true;
  undo(0);
  return false;
}

bool Unifier::assignable(const std::vector<TypeRef>& a, const std::vector<TypeRef>& b) {
  changes_.clear();
  if (unify(a, b)) return true;
  undo(0);
  return false;
}

void Unifier::undo(std::size_t size) {
  for (; changes_.size() > size; changes_.pop_back()) {
    auto& [name, before] = changes_.back();
    if (before)
      bindings_[name] = std::move(before);
    else
      bindings_.erase(name);
  }
}

void Unifier::bind(const std::string& name, TypeRef type) {
  TypeRef& place = bindings_[name];
  changes_.emplace_back(name, place);
  place = std::move(type);
}

TypeRef Unifier::bound(const Type& type) const {
  if (type.kind != Kind::parameter) return nullptr;
  const auto found = bindings_.find(type.name);
  return found == bindings_.end() ? nullptr : found->second;
}

bool Unifier::unify(const std::vector<TypeRef>& a, const std::vector<TypeRef>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!unify(a[i], b[i])) return false;
  return true;
}

bool Unifier::unify(const TypeRef& a, const TypeRef& b) {
  if (b->kind == Kind::parameter) {
    const Answer answer = substitution(a, b);
    if (answer.valid || answer.bound) return answer.valid;
  }
  if (a->kind == Kind::parameter) return substitution(b, a).valid;
  if (is_dyn_or_error(*a) || is_dyn_or_error(*b)) return true;
  if (a->kind == Kind::null) return takes_null(*b);
  if (b->kind == Kind::null) return takes_null(*a);
  if (a->kind != b->kind) return false;
  if (a->kind == Kind::type) return true;
  if (composed(a->kind)) return unify(a->parameters, b->parameters);
  return same_type(*a, *b);
}

// Can `variable` stand for `type`?
Unifier::Answer Unifier::substitution(const TypeRef& type, const TypeRef& variable) {
  if (same_type(*type, *variable)) return {true, true};
  if (const TypeRef known = bound(*variable)) {
    if (same_type(*type, *known)) return {true, true};
    if (!unify(type, known)) return {false, true};
    TypeRef general = most_general(type, known);
    if (!occurs(*variable, general)) bind(variable->name, std::move(general));
    return {true, true};
  }
  if (occurs(*variable, type)) return {false, false};
  bind(variable->name, type);
  return {true, false};
}

bool Unifier::occurs(const Type& variable, const TypeRef& within) const {
  if (same_type(variable, *within)) return true;
  if (const TypeRef known = bound(*within)) return occurs(variable, known);
  return std::any_of(within->parameters.begin(), within->parameters.end(),
                     [&](const TypeRef& part) { return occurs(variable, part); });
}

TypeRef Unifier::substitute(const TypeRef& type, bool close) const {
  if (const TypeRef known = bound(*type)) return substitute(known, close);
  if (type->kind == Kind::parameter) return close ? Type::of(Kind::dyn) : type;
  bool changed = false;
  std::vector<TypeRef> parameters;
  for (const TypeRef& part : type->parameters) {
    parameters.push_back(substitute(part, close));
    changed |= parameters.back() != part;
  }
  if (!changed) return type;
  auto copy = std::make_shared<Type>(*type);
  copy->parameters = std::move(parameters);
  return copy;
}

int Unifier::left_of(const TypeRef& type, int parts) const {
  if (parts < 0) return parts;
  if (const TypeRef known = bound(*type)) return left_of(known, parts);
  --parts;
  for (const TypeRef& part : type->parameters) parts = left_of(part, parts);
  return parts;
}

namespace {

TypeRef renamed(const TypeRef& type, std::vector<std::pair<std::string, TypeRef>>& names, Unifier& unifier) {
  if (type->kind == Kind::parameter) {
    for (const auto& [name, variable] : names)
      if (name == type->name) return variable;
    return names.emplace_back(type->name, unifier.fresh()).second;
  }
  bool changed = false;
  std::vector<TypeRef> parameters;
  for (const TypeRef& part : type->parameters) {
    parameters.push_back(renamed(part, names, unifier));
    changed |= parameters.back() != part;
  }
  if (!changed) return type;
  auto copy = std::make_shared<Type>(*type);
  copy->parameters = std::move(parameters);
  return copy;
}

}  // namespace

std::vector<TypeRef> Unifier::instantiate(const std::vector<TypeRef>& types) {
  std::vector<std::pair<std::string, TypeRef>> names;
  std::vector<TypeRef> out;
  out.reserve(types.size());
  for (const TypeRef& type : types) out.push_back(renamed(type, names, *this));
  return out;
}

}  // namespace sublet::patches::cel
