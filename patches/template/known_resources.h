// KnownResources: the custom resources behind keys of vcluster.yaml's own (Gateway API, volume snapshots), with the
// places where they name others. Pure.
#pragma once

#include <span>
#include <string_view>

#include "sublet/patches/template.h"

namespace sublet::patches {

struct KnownResource {
  bool SyncConfig::*asked;            // the key that asks for it
  bool SyncConfig::*also;             // another that does; null: none
  std::string SyncConfig::*selector;  // null: none
  CustomResource resource;
};
std::span<const KnownResource> known_resources();

}  // namespace sublet::patches
