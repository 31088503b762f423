// Default facts: constant defaults of kinds as a table: "this field, when missing, gets this JSON". Applied in order,
// so a later fact may hang on an earlier one (`when`, `is`). Internal to strategies/.
//
// Paths are dotted; "name[]" goes into every item of a list. Parents that are missing are made, unless the segment
// before them ends in '?' ("behavior?.scaleUp": only when behavior is there).
#pragma once

#include <string_view>

#include "sublet/schema/document.h"

namespace sublet::apiserver {

struct DefaultFact {
  std::string_view path;
  std::string_view json;       // `"Retain"`, `10`, `false`, `{}`
  std::string_view when = {};  // dotted path that must hold the text `is`; empty: always
  std::string_view is = {};
  bool zero_too = false;    // a number that Go writes as 0 when it is not set
  bool is_pointer = false;  // a pointer in Go, where "" is a value
};

void apply_default(schema::Value object, const DefaultFact& fact);

/// A Strategy::defaults function that applies a static array of facts.
template <const auto& Facts>
void defaults_from(schema::Value object) {
  for (const auto& fact : Facts) apply_default(object, fact);
}

}  // namespace sublet::apiserver
