// Unifier: which types fit together, and what type variables stand for meanwhile. cel-go's rules (checker/types.go).
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "sublet/patches/cel_type.h"

namespace sublet::patches::cel {

class Unifier {
 public:
  /// A type variable that nothing is known of.
  TypeRef fresh() { return Type::parameter("_var" + std::to_string(next_++)); }
  /// May values of type `a` stand where `b` is wanted? Variables learn from a yes; a no leaves all as it was.
  bool assignable(const TypeRef& a, const TypeRef& b);
  bool assignable(const std::vector<TypeRef>& a, const std::vector<TypeRef>& b);
  /// The type with what its variables stand for; `close`: dyn for those that stand for nothing.
  TypeRef substitute(const TypeRef& type, bool close) const;
  /// Has the type, with what its variables stand for, more than that many parts? {x: x} doubles one.
  bool larger_than(const TypeRef& type, int parts) const { return left_of(type, parts) < 0; }
  /// A signature's types with fresh variables for its parameters.
  std::vector<TypeRef> instantiate(const std::vector<TypeRef>& types);

 private:
  using Change = std::pair<std::string, TypeRef>;  // what it stood for before
  bool unify(const TypeRef& a, const TypeRef& b);
  bool unify(const std::vector<TypeRef>& a, const std::vector<TypeRef>& b);
  struct Answer {
    bool valid;
    bool bound;
  };
  Answer substitution(const TypeRef& type, const TypeRef& variable);
  bool occurs(const Type& variable, const TypeRef& within) const;
  void bind(const std::string& name, TypeRef type);
  TypeRef bound(const Type& type) const;
  int left_of(const TypeRef& type, int parts) const;
  void undo(std::size_t size);

  std::unordered_map<std::string, TypeRef> bindings_;
  std::vector<Change> changes_;
  int next_ = 0;
};

bool same_type(const Type& a, const Type& b);
/// The more general of two types that fit.
TypeRef most_general(const TypeRef& a, const TypeRef& b);

}  // namespace sublet::patches::cel
