#include "syncer/translate/reserved_keys.h"

#include <algorithm>
#include <iterator>

namespace sublet::syncer {
namespace {

enum class On : unsigned char { labels, annotations, both };
// Who may write the key on the host beside the host itself: a template, or nobody.
enum class Author : unsigned char { platform, host };
struct KeyRow {
  std::string_view key;  // exact, or a prefix when it ends in '/' or '*'
  On on;
  Author author = Author::platform;
};
constexpr KeyRow kReservedKeys[] = {
    {"sublet.dev/", On::both},  // ours; written after the patches
    // Queues: the platform's choice, made by a template.
    {"kai.scheduler/queue", On::both},
    {"kueue.x-k8s.io/*", On::both},
    {"scheduling.volcano.sh/*", On::both},
    {"scheduling.k8s.io/group-name", On::both},
    {"volcano.sh/*", On::both},
    {"project", On::labels},
    {"priorityClassName", On::labels},
    {"kai.scheduler/preemptibility", On::both},
    {"kai.scheduler/node-pool", On::both},
    {"kai.scheduler/skip-podgrouper", On::both},
    {"kai.scheduler/subgroup-name", On::both},
    {"kai.scheduler/preemption-delay", On::both},
    // Records of host components: not even a template may write them.
    {"runai-gpu-group", On::both, Author::host},
    {"runai-gpu-group/", On::both, Author::host},
    {"pod-group-name", On::both, Author::host},
    {"received-resource-type", On::both, Author::host},
    {"runai/shared-gpu-configmap", On::both, Author::host},
    {"run.ai/reserve_for_gpu_index", On::both, Author::host},
    {"kai.scheduler/top-owner-metadata", On::both, Author::host},
    {"kai.scheduler/stale-podgroup-timestamp", On::both, Author::host},
    {"kai.scheduler/last-start-timestamp", On::both, Author::host},
    // Opt-outs and device picks of other schedulers and runtimes.
    {"hami.io/*", On::both},
    {"nvidia.com/use-gpuuuid", On::both},
    {"nvidia.com/nouse-gpuuuid", On::both},
    {"nvidia.com/vgpu-mode", On::both},
    {"mps", On::annotations},
    // Kubernetes itself and cluster add-ons that act on annotations.
    {"cluster-autoscaler.kubernetes.io/*", On::both},
    {"karpenter.sh/*", On::both},
    {"scheduler.alpha.kubernetes.io/*", On::annotations},
    {"resource.kubernetes.io/*", On::both},
    {"container.apparmor.security.beta.kubernetes.io/*", On::annotations},
    {"seccomp.security.alpha.kubernetes.io/*", On::annotations},
    {"container.seccomp.security.alpha.kubernetes.io/*", On::annotations},
    {"kubernetes.io/ingress-bandwidth", On::annotations},
    {"kubernetes.io/egress-bandwidth", On::annotations},
    {"kubernetes.io/service-account.*", On::annotations},
    {"kubernetes.io/config.*", On::annotations},
    {"k8s.v1.cni.cncf.io/*", On::annotations},
    {"v1.multus-cni.io/*", On::annotations},
    {"sidecar.istio.io/*", On::both},
    {"eks.amazonaws.com/*", On::annotations},
    {"iam.gke.io/*", On::annotations},
    {"azure.workload.identity/*", On::both},
    {"service.beta.kubernetes.io/*", On::annotations},
    {"kubectl.kubernetes.io/last-applied-configuration", On::annotations},
    {"vcluster.loft.sh/*", On::both},
};

bool matches(std::string_view pattern, std::string_view key) {
  if (pattern.ends_with('*')) return key.starts_with(pattern.substr(0, pattern.size() - 1));
  if (pattern.ends_with('/')) return key.starts_with(pattern);
  return key == pattern;
}

bool reserved(std::string_view key, bool after_patches, On place) {
  return std::any_of(std::begin(kReservedKeys), std::end(kReservedKeys), [&](const KeyRow& row) {
    return (row.on == place || row.on == On::both) && (!after_patches || row.author == Author::host) &&
           matches(row.key, key);
  });
}

}  // namespace

bool reserved_label(std::string_view key, bool after_patches) { return reserved(key, after_patches, On::labels); }

bool reserved_annotation(std::string_view key, bool after_patches) {
  return reserved(key, after_patches, On::annotations);
}

}  // namespace sublet::syncer
