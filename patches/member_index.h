// MemberIndex: finds members of an object by name, by hash once the object is large.
//
// Merging a patch with many members into a large map must not cost their product. Keys are views into the documents,
// which outlive the index.
#pragma once

#include <string_view>
#include <unordered_map>

#include "sublet/schema/document.h"

namespace sublet::patches {

class MemberIndex {
 public:
  explicit MemberIndex(schema::Value object) : object_(object) {
    if (object.size() <= kLinearMax) return;
    hashed_ = true;
    members_.reserve(object.size());
    for (schema::Value member : object) members_.emplace(member.key(), member);
  }

  schema::Value find(std::string_view key) const {
    if (!hashed_) return object_[key];
    const auto found = members_.find(key);
    return found == members_.end() ? schema::Value() : found->second;
  }

  /// Appends a member that find() did not find.
  schema::Value add(std::string_view key) {
    schema::Value member = object_.add_member(key);
    if (hashed_)
      members_.emplace(member.key(), member);
    else if (object_.size() > kLinearMax)
      *this = MemberIndex(object_);
    return member;
  }

 private:
  static constexpr std::size_t kLinearMax = 24;
  schema::Value object_;
  bool hashed_ = false;
  std::unordered_map<std::string_view, schema::Value> members_;
};

}  // namespace sublet::patches
