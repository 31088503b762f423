// Policy: all roles and bindings at one revision, indexed by whom they concern. A decision looks at the asker's own
// bindings and at nothing else, however many there are.
//
// Immutable: a change makes another Policy that shares all but the touched parts (CowMap). So its holder sees
// one state, and asking locks nothing and allocates nothing. Threads: any.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "apiserver/authz/role_rules.h"
#include "sublet/store/store.h"

namespace sublet::apiserver {

/// A map whose copies share their parts until one of them is changed. `Key` is looked up by Key::View. A part is copied
/// once for all changes of one copy: a binding of 40,000 subjects is as many changes.
template <class Key, class Mapped>
class CowMap {
 public:
  using View = typename Key::View;
  CowMap() = default;
  CowMap(const CowMap& other) : parts_(other.parts_) {}
  CowMap& operator=(const CowMap&) = delete;
  const Mapped* find(const View& key) const {
    const auto& part = parts_[part_of(key)];
    if (!part) return nullptr;
    const auto found = part->find(key);
    return found == part->end() ? nullptr : &found->second;
  }
  /// For writing, before this map is copied. `change` gets the value (default-made when there was none) and says
  /// whether it stays.
  template <class Change>
  void edit(const View& key, Change change) {
    const std::size_t place = part_of(key);
    edit_in(own_part(place), key, change);
    if (!own_[place]->empty()) return;
    parts_[place] = nullptr;
    own_[place] = nullptr;
  }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(const View& key) const { return key.hash(); }
    std::size_t operator()(const Key& key) const { return key.view().hash(); }
  };
  struct Equal {
    using is_transparent = void;
    bool operator()(const Key& a, const Key& b) const { return a.view() == b.view(); }
    bool operator()(const View& a, const Key& b) const { return a == b.view(); }
    bool operator()(const Key& a, const View& b) const { return a.view() == b; }
  };
  using Part = std::unordered_map<Key, Mapped, Hash, Equal>;
  static constexpr std::size_t kParts = 64;
  static std::size_t part_of(const View& key) { return (key.hash() >> 7) % kParts; }
  template <class Change>
  static void edit_in(Part& part, const View& key, Change& change) {
    auto found = part.find(key);
    if (found == part.end()) found = part.emplace(Key(key), Mapped()).first;
    if (!change(found->second)) part.erase(found);
  }

  Part& own_part(std::size_t place) {
    if (own_[place] == nullptr) {
      auto made = parts_[place] ? std::make_shared<Part>(*parts_[place]) : std::make_shared<Part>();
      own_[place] = made.get();
      parts_[place] = std::move(made);
    }
    return *own_[place];
  }

  std::array<std::shared_ptr<const Part>, kParts> parts_;
  std::array<Part*, kParts> own_ = {};  // those of parts_ that this map has made and no copy of it can have yet
};

std::size_t hash_of_two(char kind, std::string_view first, std::string_view second);

/// A name of some kind in a namespace ("": the cluster).
struct ScopedName {
  struct View {
    char kind = 0;
    std::string_view name, namespace_name;
    std::size_t hash() const { return hash_of_two(kind, name, namespace_name); }
    bool operator==(const View&) const = default;
  };
  explicit ScopedName(const View& view) : kind(view.kind), name(view.name), namespace_name(view.namespace_name) {}
  View view() const { return {kind, name, namespace_name}; }
  char kind;
  std::string name, namespace_name;
};

struct Subject {
  std::string kind, name, namespace_name;
};

struct Binding {
  std::string name, namespace_name;  // "" for a ClusterRoleBinding
  std::string role_kind, role_name;
  std::vector<Subject> subjects;
};
using BindingPtr = std::shared_ptr<const Binding>;

class Policy {
 public:
  Policy() = default;
  static constexpr std::string_view kPrefixes[] = {
      "roles.rbac.authorization.k8s.io/", "clusterroles.rbac.authorization.k8s.io/",
      "rolebindings.rbac.authorization.k8s.io/", "clusterrolebindings.rbac.authorization.k8s.io/"};

  /// Applies the creation, change or removal of an object. Only while this Policy has one holder.
  void apply(const store::ObjectPtr& before, const store::ObjectPtr& after);
  /// Rights of a user of sublet's own, which no object of a tenant grants or revokes: rules as in a ClusterRole.
  void grant(const std::string& user, RoleRulesPtr rules);

  bool allows(const Attributes& attributes) const;

  /// Calls visit(binding, rules) for every binding of the user in the cluster and in the namespace, until it returns
  /// false. Null rules: there is no such role. A role that several bindings name comes several times.
  template <class Visit>
  void visit(const User& user, std::string_view namespace_name, Visit visit_one) const {
    const auto each = [&](const ScopedName::View& subject) {
      const auto* bindings = bindings_.find(subject);
      if (!bindings) return true;
      for (const auto& binding : *bindings)
        if (!visit_one(*binding, rules_of(*binding))) return false;
      return true;
    };
    for (const auto scope : {std::string_view(), namespace_name}) {
      if (!each({kUser, user.name, scope})) return;
      for (const auto& group : user.groups)
        if (!each({kGroup, group, scope})) return;
      if (namespace_name.empty()) return;
    }
  }
  const RoleRules* component_rules(std::string_view user) const;
  /// Null: there is none.
  const RoleRules* role(std::string_view kind, std::string_view namespace_name, std::string_view name) const;

 private:
  static constexpr char kUser = 'u', kGroup = 'g', kRole = 'r', kComponent = 'h';
  const RoleRules* rules_of(const Binding& binding) const {
    return role(binding.role_kind, binding.namespace_name, binding.role_name);
  }
  void put_binding(const BindingPtr& binding, bool present);

  CowMap<ScopedName, RoleRulesPtr> roles_;
  CowMap<ScopedName, std::vector<BindingPtr>> bindings_;  // by subject and scope
};

/// `clusterrole.rbac.authorization.k8s.io "x" not found`: as the authorizer of upstream says it.
Status role_not_found(std::string_view kind, std::string_view name);
/// Several errors as one text, as Go's aggregate says them: each once.
std::string joined_errors(std::vector<std::string> errors);
/// `ClusterRoleBinding "x" of ClusterRole "y" to User "z"`, for the subject that `user` is.
std::string describe(const Binding& binding, const User& user);

}  // namespace sublet::apiserver
