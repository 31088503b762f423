// What the fuzz targets of patches share: inputs that hold a document on the first line and a patch on the others, and
// the check that a patched tree is still a sound one.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "sublet/schema/document.h"

namespace sublet::fuzz {

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// Both parts parsed; nullopt when one is no JSON.
inline std::optional<std::pair<schema::Document, schema::Document>> split(std::string_view text) {
  const auto end = text.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  auto document = schema::Document::parse_json(text.substr(0, end));
  auto patch = schema::Document::parse_json(text.substr(end + 1));
  if (!document || !patch) return std::nullopt;
  return std::pair(std::move(*document), std::move(*patch));
}

/// Go writes floats below 1e21 without exponent; schema's parser refuses whole numbers beyond 64 bits.
inline bool has_wide_number(const schema::Value& value) {
  if (value.is_floating()) return value.floating() >= 9.2e18 || value.floating() <= -9.2e18;
  for (const schema::Value child : value)
    if (has_wide_number(child)) return true;
  return false;
}

/// Aborts unless the tree can be written, read again within the depth limit, and is then the same.
inline void check_sound(const schema::Document& document) {
  if (has_wide_number(document.root())) return;
  const auto again = schema::Document::parse_json(document.to_json());
  if (!again || !again->root().equals(document.root())) {
    std::fprintf(stderr, "not a sound tree: %.2000s\n", document.to_json().c_str());
    std::abort();
  }
  if (!document.clone().root().equals(document.root())) std::abort();
}

}  // namespace sublet::fuzz
