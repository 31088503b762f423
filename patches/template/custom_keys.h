// CustomKeys: what a template says of custom resources that cross (sync.toHost.customResources and
// sync.fromHost.customResources, as vcluster.yaml has them).
#pragma once

#include "patches/template/source.h"
#include "sublet/patches/custom_resources.h"

namespace sublet::patches {

/// Adds what is asked for to `resources`. What sublet does not do goes to `refused`, what is written wrongly to
/// `problems`.
void read_custom_resources(const YamlNode& node, const std::string& key, bool to_host,
                           std::vector<CustomResource>& resources, Problems& problems, Problems& refused);

}  // namespace sublet::patches
