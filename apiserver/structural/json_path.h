// JsonPath: the simple JSON paths of printer columns, as client-go's jsonpath reads them: members, items, slices,
// wildcards, filters. Gives the first value that the path leads to. Immutable; any thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sublet/base/status.h"
#include "sublet/schema/document.h"

namespace sublet::apiserver {

class JsonPath {
 public:
  /// ".spec.replicas", ".status.conditions[?(@.type==\"Ready\")].status". bad_request: what is wrong with it.
  static Result<JsonPath> parse(std::string_view text);
  /// Missing: the path leads nowhere.
  schema::Value first(const schema::Value& object) const;

 private:
  enum class Compare : unsigned char { exists, equal, unequal, less, less_equal, greater, greater_equal };
  struct Step {
    enum class Kind : unsigned char { member, slice, each, filter, descend } kind = Kind::member;
    std::string name;
    // Of a slice; [-1] is one of a single item. From the end when negative.
    std::int64_t begin = 0, step = 1;
    std::optional<std::int64_t> end = {};
    std::shared_ptr<const JsonPath> left;  // of a filter
    Compare compare = Compare::exists;
    schema::Document right = {};
    Step() = default;
    Step(Step&&) = default;
    Step& operator=(Step&&) = default;
  };
  class Parser;

  schema::Value walk(const schema::Value& value, std::size_t step) const;
  schema::Value walk_slice(const schema::Value& value, std::size_t step) const;
  static bool passes(const schema::Value& item, const Step& step);
  schema::Value descend(const schema::Value& value, std::size_t step) const;

  std::vector<Step> steps_;
};

}  // namespace sublet::apiserver
