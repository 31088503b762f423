// Writes validation causes as a text for comparisons.
#pragma once

#include <string>

#include "apiserver/validation/field_errors.h"

namespace sublet::apiserver {

/// Returns a line "field: message" for each cause.
inline std::string causes_lines(const Causes& causes) {
  std::string text;
  for (const auto& cause : causes) text += cause.field + ": " + cause.message + "\n";
  return text;
}

}  // namespace sublet::apiserver
