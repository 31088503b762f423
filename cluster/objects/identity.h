// Identity: a virtual cluster's syncer as a user of the host: a ServiceAccount of the host namespace with the rights
// that the table of synced kinds asks for (sublet/syncer/host_footprint.h) and no others, authenticated by tokens that
// last an hour (sublet/kube/account_token.h). Where the host serves admission policies, one restricts that account to
// its own objects, because RBAC cannot. The operator's credential is used to make all this and is not stored.
//
// All carry the virtual cluster's labels and go with it (sweep.h). Pure but for keep_identity() and renewed_token(),
// which block.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cluster/host/host.h"
#include "sublet/kube/account_token.h"
#include "sublet/schema/document.h"
#include "sublet/syncer/translate.h"

namespace sublet::cluster {

struct IdentityObject {
  kube::Resource resource;
  std::string host_namespace;  // "": of no namespace
  schema::Document object;
  bool policy = false;  // an admission policy, which not every host serves
};
/// Account, rights and policy, in the order in which they are made.
std::vector<IdentityObject> identity_objects(const VirtualCluster& cluster, const syncer::TranslateContext& context);

/// Creates or updates them. An object of that name that is not the virtual cluster's stays as it is and is an error.
Outcome keep_identity(const Host& host, const VirtualCluster& cluster, Progress& progress);

/// Requests a token for the syncer with the operator's rights; nullopt when `current` need not be renewed yet.
Result<std::optional<kube::AccountToken>> renewed_token(const Host& host, const VirtualCluster& cluster,
                                                        const std::optional<kube::AccountToken>& current);

/// Returns address and CA of the host, without the operator's credential.
kube::ClusterAccess without_credentials(const kube::ClusterAccess& access);

struct IdentityResource {
  kube::Resource resource;
  bool in_cluster = false, policy = false;
};
/// Their resources, for the sweep.
const std::vector<IdentityResource>& identity_resources();

}  // namespace sublet::cluster
