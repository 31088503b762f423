// Identity: who a virtual cluster's syncer is on the host: a ServiceAccount of the host namespace with the rights that
// the table of synced kinds asks for (sublet/syncer/host_footprint.h) and no others, known there by tokens of an hour
// (sublet/kube/account_token.h). Where the host serves admission policies, one holds that account to its own objects,
// for rights cannot say whose an object is. The operator's credential is used to make all this and is not kept.
//
// All carry the virtual cluster's labels and go with it (sweep.h). Pure but for keep_identity() and renew_token(),
// which block.
#pragma once

#include <string>
#include <vector>

#include "cluster/host.h"
#include "sublet/schema/document.h"
#include "sublet/syncer/translate.h"

namespace sublet::cluster {

struct IdentityObject {
  kube::Resource resource;
  std::string host_namespace;  // "": of no namespace
  schema::Document object;
  bool policy = false;  // not every host serves such
};
/// Account, rights and policy, in the order in which they are made.
std::vector<IdentityObject> identity_objects(const VirtualCluster& cluster, const syncer::TranslateContext& context);

/// Makes or changes them; one of their names that is not the virtual cluster's is left alone, with an error.
Outcome keep_identity(const Host& host, const VirtualCluster& cluster, Progress& progress);

/// A token for the syncer, by the operator's rights. True when the one that was there had ended or was not there; one
/// that is good for a while yet stays.
Result<bool> renew_token(const Host& host, const VirtualCluster& cluster);
/// False when the one that is there has ended.
bool token_holds(const VirtualCluster& cluster);

/// What `access` says of where the host is and how it proves itself, without what it proves the operator by.
kube::ClusterAccess without_credentials(const kube::ClusterAccess& access);

struct IdentityResource {
  kube::Resource resource;
  bool in_cluster = false, policy = false;
};
/// Their resources, for who takes them away.
const std::vector<IdentityResource>& identity_resources();

}  // namespace sublet::cluster
