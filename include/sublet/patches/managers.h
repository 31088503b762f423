// Managers: who owns which fields of an object, and how updates and applies change that; upstream's merge.Updater.
//
// An update takes what it changes from everybody. An apply merges what it mentions into the object, takes away what its
// manager had applied before and nobody else owns, and is a conflict where it changes what others own, unless forced.
// Managers are named by text; what it means is the caller's. Objects of one kind may be seen in several versions: a
// manager's fields are those of the version that it wrote in. Pure but for the Versions handed in; any thread.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sublet/patches/field_set.h"
#include "sublet/patches/typed_merge.h"

namespace sublet::patches {

struct ManagedSet {
  FieldSet fields;
  std::string version;
  bool applied = false;
  bool operator==(const ManagedSet&) const = default;
};
using ManagedSets = std::map<std::string, ManagedSet>;

/// An object as one version has it; holds the document when it is not somebody else's.
struct TypedObject {
  schema::Value value;
  const MergeType* type = nullptr;
  std::string version;
  std::shared_ptr<const schema::Document> holder;
};

/// What the caller knows of a kind's versions.
class Versions {
 public:
  virtual ~Versions() = default;
  /// not_found: there is no such version (any more).
  virtual Result<TypedObject> convert(const TypedObject& object, const std::string& version) const = 0;
  /// Drops from a set what nobody can own through this endpoint.
  virtual void filter(FieldSet& fields, const std::string& version) const = 0;
};

struct Conflict {
  std::string manager;
  Path path;
};
/// Why an apply failed: conflicts, else a message.
struct ApplyFailure {
  std::vector<Conflict> conflicts;
  std::string message;
};

struct Applied {
  std::optional<TypedObject> object;  // none: the apply changes nothing
  ManagedSets managers;
};

/// `object` is what `live` (an empty object: creation) becomes by the hand of `manager`.
Result<ManagedSets> update_managers(const Versions& versions, const TypedObject& live, const TypedObject& object,
                                    ManagedSets managers, const std::string& manager);
tl::expected<Applied, ApplyFailure> apply_managed(const Versions& versions, const TypedObject& live,
                                                  const TypedObject& config, ManagedSets managers,
                                                  const std::string& manager, bool force);

}  // namespace sublet::patches
