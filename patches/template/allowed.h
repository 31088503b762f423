// Reads the template's key `allow` (sublet/patches/allowed.h). Lists add to the defaults.
#pragma once

#include <span>
#include <string_view>

#include "patches/template/source.h"
#include "sublet/patches/allowed.h"

namespace sublet::patches {

/// `node`: the value of the key; null: absent. `crossing`: the kinds that cross to the host; empty: every kind.
Allowed read_allowed(const YamlNode* node, std::span<const std::string_view> crossing, Problems& problems);

}  // namespace sublet::patches
