// HostManifest: the objects that a virtual cluster as such has on the host (its Service, its accounts, its policies),
// with the labels by which it is found and swept away. Blocking where it writes.
#pragma once

#include <string>
#include <string_view>

#include "cluster/host/host.h"
#include "sublet/patches/api_value.h"
#include "sublet/patches/template.h"
#include "sublet/schema/document.h"

namespace sublet::cluster {

inline constexpr const char* kRbacGroup = "rbac.authorization.k8s.io";
inline constexpr int kHttpsPort = 443, kDnsPort = 53;  // of Services

/// Returns an object with apiVersion, kind, name, the virtual cluster's labels, and the template's extra metadata.
schema::Document host_manifest(const VirtualCluster& cluster, std::string_view api_version, std::string_view kind,
                               std::string_view name, const patches::ExtraMetadata& extra = {});
/// Adds the annotations that the template puts on all of them.
patches::ExtraMetadata with_global(const patches::SyncConfig& config, const patches::ExtraMetadata& extra);
/// Adds the value's members to `target`.
void put_api_value(schema::Value target, const patches::ApiValue& value);
/// already_exists when one of that name belongs to another.
Outcome check_ours(const VirtualCluster& cluster, const kube::Resource& resource, const schema::Value& there);
/// Creates it, or updates ours (server-side apply, as "sublet"), in the host namespace unless it names another.
Result<schema::Document> keep_manifest(const Host& host, const VirtualCluster& cluster, const kube::Resource& resource,
                                       const schema::Value& wanted);
/// Returns the wanted labels and annotations that are missing there, as the `metadata` of a merge patch; empty: none.
schema::Document missing_metadata(const schema::Value& there, const schema::Value& wanted);

}  // namespace sublet::cluster
