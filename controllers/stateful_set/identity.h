// Identity: what makes a pod the pod of one ordinal: its name, labels, host name and volumes. And the claims that go
// with it.
//
// Functions of documents; pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controllers/runtime/object_ref.h"
#include "sublet/schema/document.h"

namespace sublet::controllers {

inline constexpr std::string_view kPodNameLabel = "statefulset.kubernetes.io/pod-name";
inline constexpr std::string_view kPodIndexLabel = "apps.kubernetes.io/pod-index";
inline constexpr std::string_view kRevisionLabel = "controller-revision-hash";

struct PodIdentity {
  std::string set;
  int ordinal = -1;
};
/// Of a name such as "web-3"; nullopt for others.
std::optional<PodIdentity> identity_of(std::string_view pod_name);
std::string pod_name(std::string_view set, int ordinal);
std::string claim_name(std::string_view claim, std::string_view set, int ordinal);

/// The first ordinal, and how many follow from there.
int first_ordinal(const schema::Value& set);
int replicas_of_set(const schema::Value& set);
bool in_range(const schema::Value& set, int ordinal);

/// The pod of an ordinal, of the given template and its revision.
schema::Document new_stateful_pod(const schema::Value& set, const schema::Value& pod_template, const ObjectRef& owner,
                                  int ordinal, const std::string& revision);
/// The claims of that pod, to be created.
std::vector<schema::Document> claims_of(const schema::Value& set, const ObjectRef& owner, int ordinal);
bool identity_matches(const ObjectRef& owner, const schema::Value& pod);
bool storage_matches(const schema::Value& set, const ObjectRef& owner, const schema::Value& pod);
void put_identity(const ObjectRef& owner, schema::Value pod);
void put_storage(const schema::Value& set, const ObjectRef& owner, schema::Value pod);

/// Whether a pod's claims are deleted when the set is scaled down and when it is deleted.
struct ClaimRetention {
  bool delete_when_scaled = false, delete_when_deleted = false;
};
ClaimRetention retention_of(const schema::Value& set);

/// The owners that a claim should have. `scaled_down`: the pod's ordinal is no longer wanted.
struct ClaimOwners {
  ObjectRef set, pod;
  ClaimRetention retention;
  bool scaled_down = false;
};
/// Returns true when another object controls the claim although the claim should follow the set.
bool has_unexpected_controller(const std::vector<OwnerRef>& owners, const ClaimOwners& wanted);
/// Returns true for a reference to an earlier pod or set of this name.
bool has_stale_owner(const std::vector<OwnerRef>& owners, const ObjectRef& owner);
/// Returns false when new_claim_owners() has something to change.
bool claim_owners_match(const std::vector<OwnerRef>& owners, const ClaimOwners& wanted);
std::vector<OwnerRef> new_claim_owners(std::vector<OwnerRef> owners, const ClaimOwners& wanted);

}  // namespace sublet::controllers
