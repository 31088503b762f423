// Typed merge: the walks over documents that server-side apply is made of, each by a MergeType: what a value sets, what
// two values differ in, one laid over the other, items taken away.
//
// Rules and words are upstream's (sigs.k8s.io/structured-merge-diff typed). A missing Value is one that does not exist;
// null is a value. Pure; any thread. Depth is bounded by the documents' own.
#pragma once

#include <string>
#include <vector>

#include "sublet/patches/field_set.h"
#include "sublet/patches/merge_type.h"
#include "sublet/schema/document.h"

namespace sublet::patches {

struct TypeError {
  std::string path, message;
};
using TypeErrors = std::vector<TypeError>;
/// `.spec.foo: field not declared in schema`; several in lines of their own.
std::string text_of(const TypeErrors& errors);

/// Whether a list may hold two items of the same keys: what is stored may.
enum class Duplicates : std::uint8_t { refused, allowed };
TypeErrors check_type(const schema::Value& value, const MergeType& type, Duplicates duplicates);

/// Every leaf and every item that `value` mentions.
FieldSet fields_of(const schema::Value& value, const MergeType& type);

/// A path is in at most one of them.
struct Comparison {
  FieldSet removed, modified, added;
};
/// What makes `right` of `left`. Both must fit the type.
Comparison compare(const schema::Value& left, const schema::Value& right, const MergeType& type, TypeErrors& errors);

/// `over` laid over `base`: nothing goes, items stand in the order of `base` with those of `over` in theirs.
schema::Document merge(const schema::Value& base, const schema::Value& over, const MergeType& type, TypeErrors& errors);

/// Takes members and items away, in place. A map or list that becomes empty becomes null.
void remove_items(schema::Value value, const FieldSet& items, const MergeType& type);

/// Makes the named fields on the way to any member members, too.
void add_named_fields(FieldSet& set, const MergeType& type);
/// Brings a set that was made by an earlier form of the type (maps and lists that are one thing now) up to date.
void reconcile(FieldSet& set, const MergeType& type);

}  // namespace sublet::patches
