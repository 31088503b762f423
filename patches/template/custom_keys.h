// CustomKeys: what a template says of custom resources that cross (sync.toHost.customResources and
// sync.fromHost.customResources, as vcluster.yaml has them).
#pragma once

#include "patches/template/source.h"
#include "sublet/patches/custom_resources.h"
#include "sublet/patches/host_mappings.h"

namespace sublet::patches {

/// A custom resource as the file names it.
struct CustomKey {
  const YamlNode* node;
  std::string key, name;  // the path in the file; the definition's name
};

/// Adds what is asked for to `resources`, with the mappings of what comes from namespaces, and returns those that are
/// switched off in so many words. What sublet does not do goes to `refused`, what is written wrongly to `problems`.
std::vector<CustomKey> read_custom_resources(const YamlNode& node, const std::string& key, bool to_host,
                                             std::vector<CustomResource>& resources, std::vector<HostMapping>& mappings,
                                             Problems& problems, Problems& refused);

/// Lower-case letters, digits, '-' and '.', as the names of most objects.
bool is_dns_name(std::string_view text);

}  // namespace sublet::patches
