// MappingKeys: sync.fromHost.{configMaps,secrets}.mappings.byName of a template.
#pragma once

#include "patches/template/source.h"
#include "sublet/patches/host_mappings.h"

namespace sublet::patches {

/// Adds what is mapped to `mappings`; what is written wrongly goes to `problems`.
void read_mappings(const YamlNode& node, const std::string& key, std::string_view kind,
                   std::vector<HostMapping>& mappings, Problems& problems);

}  // namespace sublet::patches
