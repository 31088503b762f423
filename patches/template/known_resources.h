// KnownResources: the custom resources behind keys of vcluster.yaml's own (Gateway API, volume snapshots,
// cert-manager, External Secrets), with the
// places where they name others. Pure.
#pragma once

#include <span>
#include <string_view>

#include "sublet/patches/template.h"

namespace sublet::patches {

struct KnownResource {
  bool SyncConfig::*asked;  // the key that asks for it
  CustomResource resource;
  bool SyncConfig::*also = nullptr;    // another that does
  bool SyncConfig::*within = nullptr;  // the switch of the integration that `asked` belongs to
  std::string SyncConfig::*selector = nullptr;
};
std::span<const KnownResource> known_resources();

}  // namespace sublet::patches
