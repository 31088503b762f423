// MemberIndex: finds members of an object by name, by hash once the object is large.
//
// Value's operator[] and put() look at one member after the other, so a loop over what a client sends costs its square.
// Use this index there. Keys are views into the documents, which must outlive the index. Threads: one.
#pragma once

#include <string_view>
#include <unordered_map>

#include "sublet/schema/document.h"

namespace sublet::schema {

class MemberIndex {
 public:
  explicit MemberIndex(Value object) : object_(object) {
    if (object.size() <= kLinearMax) return;
    hashed_ = true;
    members_.reserve(object.size());
    for (Value member : object) members_.emplace(member.key(), member);
  }

  Value find(std::string_view key) const {
    if (!hashed_) return object_[key];
    const auto found = members_.find(key);
    return found == members_.end() ? Value() : found->second;
  }

  /// Appends a member that find() did not find.
  Value add(std::string_view key) {
    Value member = object_.add_member(key);
    if (hashed_)
      members_.emplace(member.key(), member);
    else if (object_.size() > kLinearMax)
      *this = MemberIndex(object_);
    return member;
  }

 private:
  static constexpr std::size_t kLinearMax = 24;
  Value object_;
  bool hashed_ = false;
  std::unordered_map<std::string_view, Value> members_;
};

}  // namespace sublet::schema
