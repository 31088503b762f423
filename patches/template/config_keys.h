// Configuration keys, as in vcluster.yaml: one table says of every key whether sublet does what it asks for, and if
// not, why not. A key that would silently do nothing, or something else, is refused.
#pragma once

#include "patches/template/source.h"
#include "sublet/patches/template.h"

namespace sublet::patches {

/// Reads all keys of the root map but those in `others`; reports every one that is refused or unknown to `refused`, and
/// what is written wrongly to `problems`.
SyncConfig read_config(const YamlNode& root, const std::vector<std::string_view>& others, Problems& problems,
                       Problems& refused);

}  // namespace sublet::patches
