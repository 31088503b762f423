// HostManifest: the objects that a virtual cluster as such has on the host (its Service, its accounts, its policies),
// with the labels by which it is found and swept away. Blocking where it writes.
#pragma once

#include <string>
#include <string_view>

#include "cluster/host.h"
#include "sublet/patches/api_value.h"
#include "sublet/patches/template.h"
#include "sublet/schema/document.h"

namespace sublet::cluster {

inline constexpr const char* kRbacGroup = "rbac.authorization.k8s.io";
inline constexpr int kHttpsPort = 443, kDnsPort = 53;  // of Services

/// With apiVersion, kind, name, the virtual cluster's labels, and what the template puts beside them.
schema::Document host_manifest(const VirtualCluster& cluster, std::string_view api_version, std::string_view kind,
                               std::string_view name, const patches::ExtraMetadata& extra = {});
/// With those that the template puts on all of them.
patches::ExtraMetadata with_global(const patches::SyncConfig& config, const patches::ExtraMetadata& extra);
/// The value's members go to `target`, beside what is there.
void put_api_value(schema::Value target, const patches::ApiValue& value);
/// already_exists: one of that name is there and is another's.
Outcome check_ours(const VirtualCluster& cluster, const kube::Resource& resource, const schema::Value& there);
/// Makes it, or brings what there is of ours to it (server-side apply, as "sublet"). It stands in the host
/// namespace, unless it names another.
Result<schema::Document> keep_manifest(const Host& host, const VirtualCluster& cluster, const kube::Resource& resource,
                                       const schema::Value& wanted);
/// What of the labels and annotations wanted is missing there, as a merge patch's `metadata`; empty: nothing.
schema::Document missing_metadata(const schema::Value& there, const schema::Value& wanted);

}  // namespace sublet::cluster
