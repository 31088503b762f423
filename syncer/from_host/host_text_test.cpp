#include "syncer/from_host/host_text.h"

#include <gtest/gtest.h>

namespace sublet::syncer {
namespace {

const std::string kUid = "11111111-2222-4333-8444-555555555555", kHostUid = "aaaaaaaa-2222-4333-8444-555555555555";

HostTextNames names_of(const std::string& host_namespace) {
  return {host_namespace, [](const std::string& name) -> std::optional<TenantObjectName> {
            if (name == "web-x-default-x-rag") return TenantObjectName{"default", "web", kUid};
            if (name == "cert-x-default-x-rag") return TenantObjectName{"default", "cert", ""};
            if (name == "long-abcdefghijklmnopqrstuvwxyz") return TenantObjectName{"default", "long-one", ""};
            return std::nullopt;
          }};
}

std::string text_for_tenant(const std::string& message) { return tenant_text(message, names_of("team")); }

// Of the pod that the text is about.
std::string told_of_web(const std::string& message, const std::string& host_namespace = "kinds-a") {
  HostTextNames names = names_of(host_namespace);
  names.host_name = "web-x-default-x-rag";
  names.about = {"default", "web", kUid};
  return tenant_text(message, names);
}

TEST(HostText, NamesOnesOwnPodsAsTheTenantDoes) {
  EXPECT_EQ(text_for_tenant("Successfully assigned team/web-x-default-x-rag to node-1"),
            "Successfully assigned default/web to node-1");
  EXPECT_EQ(text_for_tenant("pod \"web-x-default-x-rag\": started."), "pod \"default/web\": started.");
  EXPECT_EQ(text_for_tenant("long-abcdefghijklmnopqrstuvwxyz failed"), "default/long-one failed");
}

TEST(HostText, NamesNobodyElse) {
  EXPECT_EQ(text_for_tenant("Preempted by pod elsewhere/db-x-default-x-other on node-1"),
            "Preempted by pod (not yours) on node-1");
  EXPECT_EQ(text_for_tenant("victims: db-x-prod-x-other, web-x-default-x-rag"), "victims: another pod, default/web");
  EXPECT_EQ(text_for_tenant("waits for other-zbcdefghijklmnopqrstuvwxyz."), "waits for another pod.");
  EXPECT_EQ(text_for_tenant("Evicted by pod kube-system/critical"), "Evicted by pod (not yours)");
  EXPECT_EQ(text_for_tenant("team/db-x-default-x-other took it"), "another pod took it");
  EXPECT_EQ(text_for_tenant("elsewhere/web-x-default-x-rag"), "another pod");  // of our name, but not in our namespace
}

TEST(HostText, NamesWhatItIsAboutAsItStands) {
  EXPECT_EQ(told_of_web("web-x-default-x-rag waits for kinds-a/cert-x-default-x-rag"), "web waits for default/cert");
  EXPECT_EQ(told_of_web("Successfully assigned kinds-a/web-x-default-x-rag to node-1"),
            "Successfully assigned default/web to node-1");
}

TEST(HostText, NamesPodsAsKubeletsDo) {
  EXPECT_EQ(told_of_web("back-off 10s restarting failed container=c pod=web-x-default-x-rag_kinds-a(" + kHostUid + ")"),
            "back-off 10s restarting failed container=c pod=web_default(" + kUid + ")");
  EXPECT_EQ(told_of_web("failed to reserve sandbox name \"c_web-x-default-x-rag_kinds-a_" + kHostUid + "_0\""),
            "failed to reserve sandbox name \"c_web_default(" + kUid + ")_0\"");
  EXPECT_EQ(told_of_web("killed for kube-system-pod_kube-system(" + kHostUid + ")"), "killed for another pod");
  EXPECT_EQ(told_of_web("of pod db-x-prod-x-other_kinds-a(" + kHostUid + "), cert-x-default-x-rag_kinds-a"),
            "of pod another pod, cert_default");
  EXPECT_EQ(told_of_web("my_own_words (not a uid) and snake_case(x)"), "my_own_words (not a uid) and snake_case(x)");
}

TEST(HostText, NeverNamesTheHostsNamespace) {
  EXPECT_EQ(told_of_web("secrets \"cert-x-default-x-rag\" not found in namespace \"kinds-a\""),
            "secrets \"default/cert\" not found in namespace \"default\"");
  EXPECT_EQ(told_of_web("Secret kinds-a/of-the-host is odd"), "Secret (not yours) is odd");
  // But a registry's folder of the same name is an image.
  EXPECT_EQ(told_of_web("Pulling image \"kinds-a/app\", then kinds-a/app:1.2"),
            "Pulling image \"kinds-a/app\", then kinds-a/app:1.2");
  EXPECT_EQ(told_of_web("the default of kinds-a counts in namespace default", "default"),
            "the default of kinds-a counts in namespace default");
}

TEST(HostText, NamesNoAccountOfTheHost) {
  EXPECT_EQ(
      told_of_web("pods \"web-x-default-x-rag\" is forbidden: User \"system:serviceaccount:kinds-a:sublet-syncer-rag\" "
                  "cannot get resource \"pods/log\" in API group \"\" in the namespace \"kinds-a\""),
      "pods \"web\" is forbidden: User \"(not yours)\" cannot get resource \"pods/log\" in API group \"\" in the "
      "namespace \"default\"");
  EXPECT_EQ(told_of_web("User \"jane@platform.example\" cannot list pods, User \"x"),
            "User \"(not yours)\" cannot list pods, User \"x");
  EXPECT_EQ(told_of_web("denied for system:serviceaccount:kinds-a:sublet-syncer-rag, system:serviceaccount:"),
            "denied for (not yours), (not yours)");
}

TEST(HostText, LeavesAllElseAsItIs) {
  for (const char* text :
       {"0/5 nodes are available: 3 Insufficient nvidia.com/gpu, 2 node(s) had untolerated taint {a: b}.",
        "Pulling image \"docker.io/library/nginx:1.27\"", "Back-off restarting failed container c in pod p",
        "Error: failed to mount /var/lib/kubelet/pods/1-2/volumes", "", "...", "a-x-b", "10.0.0.1:80"})
    EXPECT_EQ(text_for_tenant(text), text);
}

}  // namespace
}  // namespace sublet::syncer
