#include "syncer/translate/reserved_keys.h"

#include <gtest/gtest.h>

namespace sublet::syncer {
namespace {

TEST(ReservedKeys, NoTenantPicksADevice) {
  for (const char* key : {"nvidia.com/container.main.gpus.devices",
                          "nvidia.cdi.k8s.io/container.main",
                          "cdi.k8s.io/gpu",
                          "cdi.k8s.io",
                          "devices.nri.io/container.main",
                          "cdi-devices.noderesource.dev/pod",
                          "runai-gpu",
                          "run.ai/mig-mapping",
                          "runai-gpu-group",
                          "runai-gpu-group/a",
                          "nvidia.com/use-gpuuuid",
                          "nvidia.com/nouse-gpuuuid",
                          "hygon.com/use-gpuuuid",
                          "volcano.sh/vgpu-use-gpuuuid",
                          "hami.io/vgpu-devices-to-allocate",
                          "hami.io/dcu-devices-allocated",
                          "hami.io/vgpu-node",
                          "hami.io/bind-phase",
                          "huawei.com/Ascend910",
                          "volcano.sh/vgpu-ids-new",
                          "volcano.sh/devices-to-allocate",
                          "volcano.sh/gpu-index",
                          "scheduling.koordinator.sh/device-allocated",
                          "io.kubernetes.cri-o.Devices",
                          "resource.kubernetes.io/pod-claim-name",
                          "kueue.x-k8s.io/workload",
                          "kueue.x-k8s.io/pod-suspending-parent"})
    EXPECT_TRUE(written_by_host(key)) << key;
}

TEST(ReservedKeys, WishesThatNameNoDeviceAreTheTemplatesToAllow) {
  for (const char* key : {"nvidia.com/use-gputype", "hami.io/gpu-scheduler-policy", "kueue.x-k8s.io/queue-name",
                          "gpu-fraction", "example.com/cdi.k8s.io", "mycdi.k8s.io/x", "notnri.io/x", "container."})
    EXPECT_FALSE(written_by_host(key)) << key;
}

TEST(ReservedKeys, OnesOwnDomainNeedsASlash) {
  EXPECT_TRUE(of_sublet("sublet.dev/x"));
  EXPECT_TRUE(of_sublet("t.sublet.dev/x"));
  EXPECT_FALSE(of_sublet("sublet.dev"));
  EXPECT_FALSE(of_sublet("notsublet.dev/x"));
}

}  // namespace
}  // namespace sublet::syncer
