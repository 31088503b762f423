#include "syncer/translate/reserved_keys.h"

#include <algorithm>
#include <iterator>

namespace sublet::syncer {
namespace {

constexpr KeyRow kReservedKeys[] = {
    {"sublet.dev/", true, true, false},  // ours; written after the patches
    // Queues: the platform's choice, made by a template.
    {"kai.scheduler/queue", true, true, false},
    {"kueue.x-k8s.io/*", true, true, false},
    {"scheduling.volcano.sh/*", true, true, false},
    {"scheduling.k8s.io/group-name", true, true, false},
    {"volcano.sh/*", true, true, false},
    {"project", true, false, false},
    {"priorityClassName", true, false, false},
    {"kai.scheduler/preemptibility", true, true, false},
    {"kai.scheduler/node-pool", true, true, false},
    {"kai.scheduler/skip-podgrouper", true, true, false},
    {"kai.scheduler/subgroup-name", true, true, false},
    {"kai.scheduler/preemption-delay", true, true, false},
    // Records of host components: not even a template may write them.
    {"runai-gpu-group", true, true, true},
    {"runai-gpu-group/", true, true, true},
    {"pod-group-name", true, true, true},
    {"received-resource-type", true, true, true},
    {"runai/shared-gpu-configmap", true, true, true},
    {"run.ai/reserve_for_gpu_index", true, true, true},
    {"kai.scheduler/top-owner-metadata", true, true, true},
    {"kai.scheduler/stale-podgroup-timestamp", true, true, true},
    {"kai.scheduler/last-start-timestamp", true, true, true},
    // Opt-outs and device picks of other schedulers and runtimes.
    {"hami.io/*", true, true, false},
    {"nvidia.com/use-gpuuuid", true, true, false},
    {"nvidia.com/nouse-gpuuuid", true, true, false},
    {"nvidia.com/vgpu-mode", true, true, false},
    {"mps", false, true, false},
    // Kubernetes itself and cluster add-ons that act on annotations.
    {"cluster-autoscaler.kubernetes.io/*", true, true, false},
    {"karpenter.sh/*", true, true, false},
    {"scheduler.alpha.kubernetes.io/*", false, true, false},
    {"resource.kubernetes.io/*", true, true, false},
    {"container.apparmor.security.beta.kubernetes.io/*", false, true, false},
    {"seccomp.security.alpha.kubernetes.io/*", false, true, false},
    {"container.seccomp.security.alpha.kubernetes.io/*", false, true, false},
    {"kubernetes.io/ingress-bandwidth", false, true, false},
    {"kubernetes.io/egress-bandwidth", false, true, false},
    {"kubernetes.io/service-account.*", false, true, false},
    {"kubernetes.io/config.*", false, true, false},
    {"k8s.v1.cni.cncf.io/*", false, true, false},
    {"v1.multus-cni.io/*", false, true, false},
    {"sidecar.istio.io/*", true, true, false},
    {"eks.amazonaws.com/*", false, true, false},
    {"iam.gke.io/*", false, true, false},
    {"azure.workload.identity/*", true, true, false},
    {"service.beta.kubernetes.io/*", false, true, false},
    {"kubectl.kubernetes.io/last-applied-configuration", false, true, false},
    {"vcluster.loft.sh/*", true, true, false},
};

bool matches(std::string_view pattern, std::string_view key) {
  if (pattern.ends_with('*')) return key.starts_with(pattern.substr(0, pattern.size() - 1));
  if (pattern.ends_with('/')) return key.starts_with(pattern);
  return key == pattern;
}

template <class Applies>
bool reserved(std::string_view key, bool after_patches, Applies applies) {
  return std::any_of(std::begin(kReservedKeys), std::end(kReservedKeys), [&](const KeyRow& row) {
    return applies(row) && (!after_patches || row.host_owned) && matches(row.key, key);
  });
}

}  // namespace

std::span<const KeyRow> reserved_keys() { return kReservedKeys; }

bool reserved_label(std::string_view key, bool after_patches) {
  return reserved(key, after_patches, [](const KeyRow& row) { return row.label; });
}

bool reserved_annotation(std::string_view key, bool after_patches) {
  return reserved(key, after_patches, [](const KeyRow& row) { return row.annotation; });
}

}  // namespace sublet::syncer
