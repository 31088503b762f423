// JSON merge patch, RFC 7386, and its reverse: the patch between two documents.
#include <unordered_set>

#include "patches/member_index.h"
#include "sublet/patches/patch.h"

namespace sublet::patches {

using schema::Document;
using schema::Value;

namespace {

void merge_object(Value target, const Value& patch) {
  MemberIndex members(target);
  std::unordered_set<std::string_view> removed;
  for (Value change : patch) {
    Value member = members.find(change.key());
    if (change.is_null()) {
      if (member) removed.insert(member.key());
      continue;
    }
    if (member.missing()) member = members.add(change.key());
    apply_merge_patch(member, change);
  }
  if (!removed.empty()) target.retain([&](const Value& member) { return !removed.contains(member.key()); });
}

void diff_object(const Value& from, const Value& to, Value patch) {
  const MemberIndex old_members(from);
  const MemberIndex new_members(to);
  for (Value member : from)
    if (new_members.find(member.key()).missing()) patch.add_member(member.key());
  for (Value member : to) {
    const Value before = old_members.find(member.key());
    if (before && before.equals(member)) continue;
    Value change = patch.add_member(member.key());
    if (before.is_object() && member.is_object()) {
      change.make_object();
      diff_object(before, member, change);
    } else {
      change.set(member);
    }
  }
}

}  // namespace

void apply_merge_patch(Value target, const Value& patch) {
  if (!patch.is_object()) return target.set(patch);
  if (!target.is_object()) target.make_object();
  merge_object(target, patch);
}

Document make_merge_patch(const Value& from, const Value& to) {
  if (from.equals(to)) return Document::object();
  if (!from.is_object() || !to.is_object()) return Document::copy_of(to);
  Document patch = Document::object();
  diff_object(from, to, patch.root());
  return patch;
}

}  // namespace sublet::patches
