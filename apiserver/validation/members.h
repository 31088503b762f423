// Members: the members of an object by name, for who looks many of them up: a search for each of thousands would cost
// their square, and an index for a few more than the searches. Refers to the object, of which nothing may go meanwhile;
// what comes may be found or not. Threads: one.
#pragma once

#include <algorithm>
#include <map>
#include <string_view>

#include "sublet/schema/document.h"

namespace sublet::apiserver {

class Members {
 public:
  /// `lookups`: about how many there will be.
  Members(const schema::Value& object, std::size_t lookups)
      : object_(object), indexed_(std::max(object.size(), lookups) > kSearched) {
    if (!indexed_) return;
    for (const schema::Value member : object) index_.emplace(member.key(), member);
  }
  /// Missing: there is none.
  schema::Value operator[](std::string_view name) const {
    if (!indexed_) return object_[name];
    const auto found = index_.find(name);
    return found == index_.end() ? schema::Value() : found->second;
  }

 private:
  static constexpr std::size_t kSearched = 32;
  const schema::Value object_;
  const bool indexed_;
  std::map<std::string_view, schema::Value> index_;
};

}  // namespace sublet::apiserver
