// Decodes JSON for the tests of conform() and of tables.
#pragma once

#include <string>
#include <string_view>

#include "sublet/schema/engine.h"

namespace sublet::schema {

/// Returns the JSON of `json` conformed to `type`, or the message of the error.
inline std::string conformed(std::string_view json, Type type, DecodeNotes* notes = nullptr) {
  const auto document = decode_json(json, type, notes);
  return document ? document->to_json() : document.error().message;
}

}  // namespace sublet::schema
