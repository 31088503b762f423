// Plugins: the admission plugins, one file each, as functions over one Attempt; admission.cpp holds their order.
// Internal to admission/.
#pragma once

#include <functional>

#include "apiserver/admission/admission.h"
#include "apiserver/admission/reinvocation.h"

namespace sublet::apiserver {

/// One write on its way through admission.
struct Attempt {
  WriteContext& context;
  WriteVerb verb;
  schema::Value object;            // missing for remove
  const schema::Value& old;        // missing for create
  Reinvocation* rounds = nullptr;  // of mutating admission; null: there is one round, and no call outside

  bool is(std::string_view group, std::string_view resource) const {
    return context.resource.group == group && context.resource.resource == resource && context.subresource.empty();
  }
  bool creates(std::string_view group, std::string_view resource) const {
    return verb == WriteVerb::create && is(group, resource);
  }
  /// The object's name, or what stands for it before one is generated.
  std::string name() const;
  /// The object's spec, made when it is missing.
  schema::Value spec() const {
    auto target = object;
    return target.object("spec");
  }
  /// `pods "x" is forbidden: <why>`.
  tl::unexpected<Status> forbid(std::string_view why) const;
};

/// The row of a kind that comes from the host; null when it does not.
const MirroredKind* find_mirrored(const ServerOptions& options, std::string_view group, std::string_view resource);
/// The same of what is carried to the host.
const CarriedKind* find_carried(const ServerOptions& options, std::string_view group, std::string_view resource);

/// What the platform allows a whole virtual cluster: the ResourceQuotas and LimitRanges (`resource`) that the syncer
/// has brought into kube-system count in every other namespace too. The visitor says whether to go on.
bool has_platform_limits(const WriteContext& context, std::string_view resource);
void each_platform_limit(const WriteContext& context, std::string_view resource,
                         const std::function<bool(const store::ObjectPtr&, schema::Document)>& visit);

Outcome namespace_lifecycle(const Attempt& attempt);  // refuses only, but before everything else
// Mutating.
Outcome limit_defaults(const Attempt& attempt);  // LimitRanger
Outcome service_account(const Attempt& attempt);
Outcome taint_nodes_by_condition(const Attempt& attempt);
Outcome priority(const Attempt& attempt);
Outcome default_toleration_seconds(const Attempt& attempt);
Outcome default_storage_class(const Attempt& attempt);
Outcome storage_protection(const Attempt& attempt);  // StorageObjectInUseProtection
Outcome runtime_class(const Attempt& attempt);
Outcome default_ingress_class(const Attempt& attempt);
Outcome pod_topology_labels(const Attempt& attempt);
Outcome mutating_policies(const Attempt& attempt);  // MutatingAdmissionPolicy

// Validating.
Outcome from_host(const Attempt& attempt);     // of a removal too
Outcome limit_bounds(const Attempt& attempt);  // LimitRanger
Outcome pod_security(const Attempt& attempt);
Outcome single_default_priority_class(const Attempt& attempt);
Outcome claim_resize(const Attempt& attempt);  // PersistentVolumeClaimResize
Outcome certificate_approval(const Attempt& attempt);
Outcome certificate_signing(const Attempt& attempt);
Outcome trust_bundle_attest(const Attempt& attempt);  // ClusterTrustBundleAttest
Outcome certificate_subject(const Attempt& attempt);
Outcome class_of_host(const Attempt& attempt);
Outcome group_workload(const Attempt& attempt);  // PodGroupWorkloadExists
Outcome border(const Attempt& attempt);
Outcome validating_policies(const Attempt& attempt);  // ValidatingAdmissionPolicy, of every verb

}  // namespace sublet::apiserver
