// HostFootprint: what a virtual cluster leaves on its host, and what its syncer must be allowed to do there. Read off
// the table of synced kinds (syncer/synced_kinds.cpp), so that clean-up and rights follow when a kind is added. Pure.
#pragma once

#include <string>
#include <vector>

#include "sublet/kube/client.h"
#include "sublet/syncer/translate.h"

namespace sublet::syncer {

/// Objects of this resource in the host namespace, found by the label kLabelTenantUid, go with the virtual cluster.
struct Swept {
  kube::Resource resource;
  bool ends_with_grace = false;  // a deletion may take as long as the object asks for
  bool in_cluster = false;       // of no namespace
};
/// In the order in which they go: what runs before what it uses. Of the kinds that the template asks for, and of custom
/// resources those that the host is known to serve (custom_kinds.h).
std::vector<Swept> swept_from_host(const TranslateContext& context);

struct HostRight {
  std::string group, resource;  // resource with its subresource: "pods/log"
  std::vector<std::string> verbs;
  bool cluster_wide = false;         // else in the host namespace
  std::vector<std::string> names{};  // of these objects alone; none: of all
  std::string host_namespace{};      // in another namespace of the host; "": the virtual cluster's
};
std::vector<HostRight> host_rights(const TranslateContext& context);

}  // namespace sublet::syncer
