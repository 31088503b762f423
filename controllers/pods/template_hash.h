// template_hash: the hash of a pod template that owners of pods put into names and labels. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sublet/schema/document.h"

namespace sublet::controllers {

/// Returns FNV-1a of the template's JSON and the number of collisions, encoded as upstream encodes it. The value
/// differs from upstream's, which hashes a dump of Go's structures.
std::string template_hash(const schema::Value& pod_template, std::optional<std::int64_t> collisions);
/// Encodes a hash as upstream does, without vowels, so that it spells no words.
std::string safe_encoded(std::uint32_t hash);
/// Returns "OWNER-HASH", with the owner cut to the longest name that fits.
std::string set_name(std::string_view owner, std::string_view hash);

}  // namespace sublet::controllers
