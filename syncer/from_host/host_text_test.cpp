#include "syncer/from_host/host_text.h"

#include <gtest/gtest.h>

namespace sublet::syncer {
namespace {

std::string told(const std::string& message) {
  return tenant_text(message, {"team", [](const std::string& name) -> std::optional<std::string> {
                                 if (name == "web-x-default-x-rag") return "default/web";
                                 if (name == "long-abcdefghijklmnopqrstuvwxyz") return "default/long-one";
                                 return std::nullopt;
                               }});
}

TEST(HostText, NamesOnesOwnPodsAsTheTenantDoes) {
  EXPECT_EQ(told("Successfully assigned team/web-x-default-x-rag to node-1"),
            "Successfully assigned default/web to node-1");
  EXPECT_EQ(told("pod \"web-x-default-x-rag\": started."), "pod \"default/web\": started.");
  EXPECT_EQ(told("long-abcdefghijklmnopqrstuvwxyz failed"), "default/long-one failed");
}

TEST(HostText, NamesNobodyElse) {
  EXPECT_EQ(told("Preempted by pod elsewhere/db-x-default-x-other on node-1"),
            "Preempted by pod (not yours) on node-1");
  EXPECT_EQ(told("victims: db-x-prod-x-other, web-x-default-x-rag"), "victims: another pod, default/web");
  EXPECT_EQ(told("waits for other-zbcdefghijklmnopqrstuvwxyz."), "waits for another pod.");
  EXPECT_EQ(told("Evicted by pod kube-system/critical"), "Evicted by pod (not yours)");
  EXPECT_EQ(told("team/db-x-default-x-other took it"), "another pod took it");
  EXPECT_EQ(told("elsewhere/web-x-default-x-rag"), "another pod");  // of our name, but not in our namespace
}

TEST(HostText, LeavesAllElseAsItIs) {
  for (const char* text :
       {"0/5 nodes are available: 3 Insufficient nvidia.com/gpu, 2 node(s) had untolerated taint {a: b}.",
        "Pulling image \"docker.io/library/nginx:1.27\"", "Back-off restarting failed container c in pod p",
        "Error: failed to mount /var/lib/kubelet/pods/1-2/volumes", "", "...", "a-x-b", "10.0.0.1:80"})
    EXPECT_EQ(told(text), text);
}

}  // namespace
}  // namespace sublet::syncer
