// Item key: by what an item of a list that merges is told apart from the others; private to patches/merge.
#pragma once

#include "sublet/patches/field_set.h"
#include "sublet/patches/merge_type.h"

namespace sublet::patches {

/// The item's keys, with defaults for those that it leaves out, or its own value. The error is a message alone.
Result<PathElement> item_key(const MergeList& list, const schema::Value& item);

/// The same as the text of the element, at the end of `text`.
Outcome append_item_key(std::string& text, const MergeList& list, const schema::Value& item);

/// Which of map, scalar and list a value of this type is.
struct TypeChoice {
  const MergeMap* map = nullptr;
  const MergeList* list = nullptr;
  MergeScalar scalar = MergeScalar::none;
  bool operator==(const TypeChoice&) const = default;
};
/// All that the type allows when the value is missing, null, or of a kind that the type does not allow. Null type:
/// none.
TypeChoice choice_of(const MergeType* type, const schema::Value& value);

/// Null when the value is no array (object), so that a walk over it sees nothing.
inline schema::Value as_list(const schema::Value& value) { return value.is_array() ? value : schema::Value(); }
inline schema::Value as_map(const schema::Value& value) { return value.is_object() ? value : schema::Value(); }

}  // namespace sublet::patches
