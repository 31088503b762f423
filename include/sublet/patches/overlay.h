// Overlay: the apply that most applies are, found out in one walk and without a set being made: the same fields as last
// time, each of them there, of which a few have other values that nobody else owns.
//
// What is applied, the object and the sets as metadata.managedFields has them (FieldsV1) are walked side by side by the
// type. As soon as it is anything else (a field more or less, an error, a conflict, a list in another order, null),
// there is no overlay and apply_managed() says what happens: where there is one, both come to the same. Lifecycle: the
// values that it was made of must stay. Threads: one.
#pragma once

#include <optional>
#include <vector>

#include "sublet/patches/field_set.h"
#include "sublet/patches/merge_type.h"
#include "sublet/schema/document.h"

namespace sublet::patches {

/// Sets as an apply meets them; the values are FieldsV1 in the order and spelling that write_fields_v1() gives.
struct OverlaySets {
  schema::Value last;                  // what the manager applied last
  std::vector<schema::Value> others;   // what others own, in the same version
  const FieldSet* untracked;           // whose members nobody owns
  const FieldSet* not_ours = nullptr;  // trees that this endpoint does not write; nothing of them may be applied
};

class Overlay {
 public:
  /// Nullopt: it is not as simple as that. `live` and `config` fit the type, or there is none.
  static std::optional<Overlay> of(const schema::Value& live, const schema::Value& config, const MergeType& type,
                                   const OverlaySets& sets);
  /// Whether write() changes anything.
  bool changes() const { return changes_; }
  /// Lays what differs over the object.
  void write() const;

 private:
  friend class OverlayWalk;
  struct Edit {
    schema::Value target, value;
  };
  std::vector<Edit> edits_;
  bool changes_ = false;
};

/// Whether reconcile() would change a set that is written like this.
bool is_reconcilable(const schema::Value& fields_v1, const MergeType& type);

}  // namespace sublet::patches
