#include "syncer/translate/reserved_keys.h"

#include <algorithm>
#include <iterator>

namespace sublet::syncer {
namespace {

// A key; every key with that start when it ends in '*'; every key with that end when it begins with '*'.
struct KeyRow {
  std::string_view key;
  bool shown = false;
};
constexpr KeyRow kHostKeys[] = {
    {"runai-gpu-group", true},
    {"runai-gpu-group/*", true},  // a pod on several devices has a label per device: runai-gpu-group/<group>
    {"received-resource-type", true},
    {"pod-group-name"},
    {"runai/shared-gpu-configmap"},
    {"run.ai/reserve_for_gpu_index"},
    {"kai.scheduler/top-owner-metadata"},
    {"kai.scheduler/stale-podgroup-timestamp"},
    {"kai.scheduler/last-start-timestamp"},
    // What binds and provisions says of claims and volumes, and a kubelet mounts by, before the fields of the spec.
    {"pv.kubernetes.io/bind-completed"},
    {"pv.kubernetes.io/bound-by-controller"},
    {"pv.kubernetes.io/migrated-to"},
    {"volume.kubernetes.io/*"},
    {"volume.beta.kubernetes.io/*"},
    // Keys that pick devices: a runtime, an NRI plugin or a device plugin obeys them without asking whose they are.
    {"nvidia.com/container.*"},  // KAI Scheduler 0.18: container.<name>.gpus.devices
    {"runai-gpu"},
    {"run.ai/mig-mapping"},
    {"*gpuuuid"},  // HAMi and Volcano: <vendor>/use-gpuuuid, <vendor>/nouse-gpuuuid, and Volcano's vgpu-use-gpuuuid
    {"*-devices-to-allocate"},
    {"*-devices-allocated"},
    {"hami.io/vgpu-*"},
    {"hami.io/bind-*"},
    {"huawei.com/*"},
    {"volcano.sh/vgpu-ids*"},
    {"volcano.sh/vgpu-node"},
    {"volcano.sh/vgpu-time"},
    {"volcano.sh/devices-to-allocate"},
    {"volcano.sh/bind-*"},
    {"volcano.sh/gpu-*"},
    {"volcano.sh/predicate-time"},
    {"scheduling.koordinator.sh/device-allocated"},
    {"scheduler.framework.gpushare.allocation"},
    {"ALIYUN_COM_GPU_*"},
    {"io.kubernetes.cri-o.*"},  // CRI-O: devices, among others
    {"resource.kubernetes.io/*"},
    // Kueue: which Workload admits a pod, and that somebody else is to suspend it.
    {"kueue.x-k8s.io/managed"},
    {"kueue.x-k8s.io/workload"},
    {"kueue.x-k8s.io/pod-suspending-parent"},
};

const KeyRow* key_row_of(std::string_view key) {
  const auto found = std::ranges::find_if(kHostKeys, [&](const KeyRow& row) {
    if (row.key.starts_with('*')) return key.ends_with(row.key.substr(1));
    if (row.key.ends_with('*')) return key.starts_with(row.key.substr(0, row.key.size() - 1));
    return key == row.key;
  });
  return found == std::end(kHostKeys) ? nullptr : &*found;
}

// Domains of which every key, also of a subdomain (nvidia.cdi.k8s.io), gives a container devices or mounts of the node.
constexpr std::string_view kDeviceDomains[] = {"cdi.k8s.io", "nri.io", "noderesource.dev"};

bool is_of_domain(std::string_view key, std::string_view domain) {
  const std::string_view prefix = key.substr(0, std::min(key.find('/'), key.size()));
  return prefix.ends_with(domain) &&
         (prefix.size() == domain.size() || prefix[prefix.size() - domain.size() - 1] == '.');
}

}  // namespace

bool written_by_host(std::string_view key) {
  return key_row_of(key) != nullptr ||
         std::ranges::any_of(kDeviceDomains, [&](std::string_view domain) { return is_of_domain(key, domain); });
}

bool shown_to_tenants(std::string_view key) {
  const KeyRow* row = key_row_of(key);
  return row && row->shown;
}

bool of_sublet(std::string_view key) {
  return key.find('/') != std::string_view::npos && is_of_domain(key, "sublet.dev");
}

}  // namespace sublet::syncer
