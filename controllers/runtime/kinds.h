// Kinds: the resources and kinds that several controllers name.
//
// Constants. Private to controllers/.
#pragma once

#include "controllers/runtime/object_ref.h"
#include "sublet/kube/client.h"

namespace sublet::controllers {

inline const kube::Resource kConfigMaps{"", "v1", "configmaps"};
inline const kube::Resource kEndpoints{"", "v1", "endpoints"};
inline const kube::Resource kEvents{"", "v1", "events"};
inline const kube::Resource kNamespaces{"", "v1", "namespaces"};
inline const kube::Resource kNodes{"", "v1", "nodes"};
inline const kube::Resource kPods{"", "v1", "pods"};
inline const kube::Resource kSecrets{"", "v1", "secrets"};
inline const kube::Resource kServiceAccounts{"", "v1", "serviceaccounts"};
inline const kube::Resource kServices{"", "v1", "services"};
inline const kube::Resource kVolumeClaims{"", "v1", "persistentvolumeclaims"};
inline const kube::Resource kVolumes{"", "v1", "persistentvolumes"};
inline const kube::Resource kApiServices{"apiregistration.k8s.io", "v1", "apiservices"};
inline const kube::Resource kJobs{"batch", "v1", "jobs"};
inline const kube::Resource kEndpointSlices{"discovery.k8s.io", "v1", "endpointslices"};
inline const kube::Resource kIpAddresses{"networking.k8s.io", "v1", "ipaddresses"};

inline const KindFacts kJobKind{"batch/v1", "Job", kJobs};
inline const KindFacts kPodKind{"v1", "Pod", kPods};
inline const KindFacts kVolumeClaimKind{"v1", "PersistentVolumeClaim", kVolumeClaims};

}  // namespace sublet::controllers
