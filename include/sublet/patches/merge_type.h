// MergeType: what structured merge must know of a type: which of its lists and maps are one thing, and by what their
// items are told apart. Upstream calls it an atom (sigs.k8s.io/structured-merge-diff schema).
//
// A value is of the first of map, scalar and list that fits it; a type may allow several (a JSON value allows all).
// Types refer to each other by pointer, also in circles. Threads: immutable once made.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sublet/schema/registry.h"
#include "sublet/schema/table.h"

namespace sublet::patches {

enum class MergeScalar : std::uint8_t { none, numeric, string, boolean, untyped };

struct MergeType;

struct MergeList {
  bool atomic = true;
  std::vector<std::string> keys;  // of the items of a list that is not atomic; none: the items are scalars
  const MergeType* item = nullptr;
};

struct MergeField {
  std::string name;
  const MergeType* type = nullptr;
  std::string default_json;  // empty: none
};

struct MergeMap {
  bool atomic = false;
  bool deduced = false;              // says nothing: no fields, any member
  std::vector<MergeField> fields;    // ordered by name
  const MergeType* other = nullptr;  // of members that are no fields; null: there are none

  const MergeField* find(std::string_view name) const;
  /// Of a member; null: there may be none of that name.
  const MergeType* type_of(std::string_view name) const;
};

struct MergeType {
  MergeScalar scalar = MergeScalar::none;
  std::unique_ptr<MergeList> list = nullptr;
  std::unique_ptr<MergeMap> map = nullptr;
};

/// Makes the types of the Registry's kinds out of the schema's facts, each when it is first asked for, and keeps them:
/// a part of the Registry (schema::Registry::part). Threads: any.
class MergeTypes {
 public:
  MergeTypes();
  explicit MergeTypes(const schema::Registry&) : MergeTypes() {}
  ~MergeTypes();
  /// `type` must be a kind's, and of this Registry.
  const MergeType& of(schema::Type type);

 private:
  class Maker;
  std::unique_ptr<Maker> maker_;
};

/// The type of a kind that was made at run time, by who made the kind; a column of the Registry. Any thread.
class MergeRoot {
 public:
  virtual ~MergeRoot() = default;
  virtual const MergeType& type() const = 0;
  static const MergeRoot* row_of(const schema::ResourceFacts&) { return nullptr; }
};
/// A kind's type: its maker's, else that of the schema's facts.
const MergeType& merge_type_of(const schema::Registry& kinds, const schema::ResourceFacts& facts);

/// Of values that no schema describes: maps merge, lists are one thing.
const MergeType& deduced_type();
/// Of values that are one thing whatever they are.
const MergeType& untyped_type();

}  // namespace sublet::patches
