#include "sublet/patches/managers.h"

namespace sublet::patches {
namespace {

using schema::Document;

bool is_missing_version(const Status& status) { return status.is(Reason::not_found); }

Status failure(std::string_view what, const Status& why) {
  Status status = why;
  status.message = std::string(what) + ": " + why.message;
  return status;
}

/// What an endpoint lets anybody change: fields that go, and fields that get another value.
struct Difference {
  FieldSet removed, set;
};

Result<Difference> difference_of(const Versions& versions, const TypedObject& live, const TypedObject& object) {
  TypeErrors errors;
  Comparison comparison = compare(live.value, object.value, *object.type, errors);
  if (!errors.empty()) return internal_error("failed to compare objects: " + text_of(errors));
  comparison.modified.unite(std::move(comparison.added));
  Difference difference{std::move(comparison.removed), std::move(comparison.modified)};
  for (FieldSet* fields : {&difference.removed, &difference.set}) versions.filter(*fields, object.version);
  return difference;
}

/// What differs between two states of an object, in every version that somebody has written in.
class Differences {
 public:
  Differences(const Versions& versions, const TypedObject& live, const TypedObject& object)
      : versions_(versions), live_(live), object_(object) {}

  /// not_found: there is no such version.
  Result<Difference*> in(const std::string& version) {
    if (const auto known = known_.find(version); known != known_.end()) return &known->second;
    auto made = make(version);
    if (!made) return fail(made.error());
    return &known_.emplace(version, std::move(*made)).first->second;
  }

 private:
  Result<Difference> make(const std::string& version) const {
    if (version == object_.version) return difference_of(versions_, live_, object_);
    auto live = versions_.convert(live_, version);
    if (!live) return fail(failure("failed to convert old object", live.error()));
    auto object = versions_.convert(object_, version);
    if (!object) return fail(failure("failed to convert new object", object.error()));
    return difference_of(versions_, *live, *object);
  }

  const Versions& versions_;
  const TypedObject& live_;
  const TypedObject& object_;
  std::map<std::string, Difference> known_;
};

void drop_empty(ManagedSets& managers) {
  std::erase_if(managers, [](const auto& entry) { return entry.second.fields.empty(); });
}

/// What others own of the fields that change, by manager. Who wrote in a version that is no more is forgotten.
Result<std::map<std::string, FieldSet>> find_conflicts(Differences& differences, ManagedSets& managers,
                                                       const std::string& writer) {
  std::map<std::string, FieldSet> conflicts;
  for (auto entry = managers.begin(); entry != managers.end();) {
    auto& [manager, owned] = *entry;
    if (manager == writer) {
      ++entry;
      continue;
    }
    const auto difference = differences.in(owned.version);
    if (!difference && !is_missing_version(difference.error())) return fail(difference.error());
    if (!difference) {
      entry = managers.erase(entry);
      continue;
    }
    FieldSet changed = owned.fields.common((*difference)->set);
    if (!changed.empty()) conflicts.emplace(manager, std::move(changed));
    ++entry;
  }
  return conflicts;
}

/// Takes from everybody but the writer what changes and what goes.
Outcome take_over(Differences& differences, ManagedSets& managers, const std::string& writer,
                  const std::map<std::string, FieldSet>& conflicts) {
  for (auto& [manager, owned] : managers) {
    if (manager == writer) continue;
    const auto difference = differences.in(owned.version);
    if (!difference) return fail(difference.error());
    if (const auto lost = conflicts.find(manager); lost != conflicts.end()) owned.fields.subtract(lost->second);
    owned.fields.subtract((*difference)->removed);
  }
  drop_empty(managers);
  return {};
}

std::vector<Conflict> listed(const std::map<std::string, FieldSet>& conflicts) {
  std::vector<Conflict> list;
  for (const auto& conflict : conflicts)
    conflict.second.for_each([&](const Path& path) { list.push_back({conflict.first, path}); });
  return list;
}

/// Sets of earlier forms of the types, brought up to date.
Outcome reconcile_all(const Versions& versions, const TypedObject& live, ManagedSets& managers) {
  for (auto entry = managers.begin(); entry != managers.end();) {
    const auto typed = versions.convert(live, entry->second.version);
    if (!typed && !is_missing_version(typed.error())) return fail(typed.error());
    if (!typed) {
      entry = managers.erase(entry);
      continue;
    }
    reconcile(entry->second.fields, *typed->type);
    ++entry;
  }
  return {};
}

TypedObject without(const TypedObject& object, const FieldSet& items) {
  auto copy = std::make_shared<Document>(Document::copy_of(object.value));
  remove_items(copy->root(), items, *object.type);
  return {copy->root(), object.type, object.version, copy};
}

FieldSet named_fields_of(const TypedObject& object) {
  FieldSet fields = fields_of(object.value, *object.type);
  add_named_fields(fields, *object.type);
  return fields;
}

/// Takes away what a manager applied last and does not apply now, unless somebody else owns it.
class Pruning {
 public:
  Pruning(const Versions& versions, const ManagedSets& managers) : versions_(versions), managers_(managers) {}

  Result<TypedObject> run(const TypedObject& merged, const ManagedSet& last, const std::string& version) {
    auto base = versions_.convert(merged, last.version);
    if (!base && is_missing_version(base.error())) return merged;
    if (!base) return fail(failure("failed to convert merged object to last applied version", base.error()));
    FieldSet applied = last.fields;
    add_named_fields(applied, *base->type);
    TypedObject pruned = without(*base, applied);
    if (auto added = add_back_owned(*base, pruned, last.version); !added)
      return fail(failure("failed add back owned items", added.error()));
    if (auto added = add_back_dangling(*base, pruned, last.version, applied); !added)
      return fail(failure("failed add back dangling items", added.error()));
    return versions_.convert(pruned, version);
  }

 private:
  /// What anybody owns by now comes back; at the pruned version first, since others may not convert without it.
  Outcome add_back_owned(TypedObject merged, TypedObject& pruned, const std::string& first) {
    std::map<std::string, FieldSet> owned;
    for (const auto& [manager, set] : managers_) owned[set.version].unite(set.fields);
    if (auto at_first = owned.extract(first))
      if (auto added = add_back(merged, pruned, first, std::move(at_first.mapped())); !added) return added;
    for (auto& [version, fields] : owned)
      if (auto added = add_back(merged, pruned, version, std::move(fields)); !added) return added;
    return {};
  }

  Outcome add_back(TypedObject& merged, TypedObject& pruned, const std::string& version, FieldSet owned) {
    auto whole = versions_.convert(merged, version);
    if (!whole && is_missing_version(whole.error())) return {};
    if (!whole) return fail(failure("failed to convert merged object at version " + version, whole.error()));
    merged = std::move(*whole);
    auto part = versions_.convert(pruned, version);
    if (!part && is_missing_version(part.error())) return {};
    if (!part) return fail(failure("failed to convert pruned object at version " + version, part.error()));
    add_named_fields(owned, *merged.type);
    FieldSet going = named_fields_of(merged);
    going.subtract([&] {
      FieldSet stays = named_fields_of(*part);
      stays.unite(std::move(owned));
      return stays;
    }());
    pruned = without(merged, going);
    return {};
  }

  /// Only what the manager had applied goes: what was nobody's stays.
  Outcome add_back_dangling(const TypedObject& merged, TypedObject& pruned, const std::string& version,
                            const FieldSet& applied) {
    auto part = versions_.convert(pruned, version);
    if (!part && is_missing_version(part.error())) {
      pruned = merged;
      return {};
    }
    if (!part) return fail(failure("failed to convert pruned object to last applied version", part.error()));
    FieldSet going = named_fields_of(merged);
    going.subtract(named_fields_of(*part));
    going.intersect(applied);
    pruned = without(merged, going);
    return {};
  }

  const Versions& versions_;
  const ManagedSets& managers_;
};

tl::unexpected<ApplyFailure> apply_failure(std::string message) {
  return tl::unexpected(ApplyFailure{{}, std::move(message)});
}

/// The manager applied just these fields before: nothing is to be taken away.
bool applies_the_same(const ManagedSet& last, const ManagedSet& now) {
  if (last.version != now.version) return false;
  FieldSet missing = last.fields;
  missing.subtract(now.fields);
  return missing.empty();
}

}  // namespace

Result<ManagedSets> update_managers(const Versions& versions, const TypedObject& live, const TypedObject& object,
                                    ManagedSets managers, const std::string& manager) {
  if (auto reconciled = reconcile_all(versions, live, managers); !reconciled) return fail(reconciled.error());
  Differences differences(versions, live, object);
  auto own = differences.in(object.version);
  if (!own) return fail(own.error());
  const auto conflicts = find_conflicts(differences, managers, manager);
  if (!conflicts) return fail(conflicts.error());
  if (auto taken = take_over(differences, managers, manager, *conflicts); !taken) return fail(taken.error());
  ManagedSet& mine = managers[manager];
  mine.version = object.version;
  mine.applied = false;
  mine.fields.subtract((*own)->removed);
  mine.fields.unite(std::move((*own)->set));  // nobody asks for it any more
  versions.filter(mine.fields, object.version);
  drop_empty(managers);
  return managers;
}

tl::expected<Applied, ApplyFailure> apply_managed(const Versions& versions, const TypedObject& live,
                                                  const TypedObject& config, ManagedSets managers,
                                                  const std::string& manager, bool force) {
  if (auto reconciled = reconcile_all(versions, live, managers); !reconciled)
    return apply_failure(reconciled.error().message);
  TypeErrors errors;
  auto document = std::make_shared<Document>(merge(live.value, config.value, *config.type, errors));
  if (!errors.empty()) return apply_failure("failed to merge config: " + text_of(errors));
  TypedObject merged{document->root(), config.type, config.version, document};

  ManagedSet now{fields_of(config.value, *config.type), config.version, true};
  versions.filter(now.fields, config.version);
  const ManagedSet last = std::exchange(managers[manager], now);
  if (!last.fields.empty() && !applies_the_same(last, now)) {
    auto pruned = Pruning(versions, managers).run(merged, last, config.version);
    if (!pruned) return apply_failure("failed to prune fields: " + pruned.error().message);
    merged = std::move(*pruned);
  }

  Differences differences(versions, live, merged);
  auto conflicts = find_conflicts(differences, managers, manager);
  if (!conflicts) return apply_failure(conflicts.error().message);
  if (!force && !conflicts->empty()) return tl::unexpected(ApplyFailure{listed(*conflicts), {}});
  if (auto taken = take_over(differences, managers, manager, *conflicts); !taken)
    return apply_failure(taken.error().message);
  Applied applied{std::nullopt, std::move(managers)};
  if (!live.value.equals(merged.value)) applied.object = std::move(merged);
  return applied;
}

}  // namespace sublet::patches
