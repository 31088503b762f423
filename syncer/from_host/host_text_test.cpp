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
std::string text_about_web(const std::string& message, const std::string& host_namespace = "kinds-a") {
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
  EXPECT_EQ(text_about_web("web-x-default-x-rag waits for kinds-a/cert-x-default-x-rag"), "web waits for default/cert");
  EXPECT_EQ(text_about_web("Successfully assigned kinds-a/web-x-default-x-rag to node-1"),
            "Successfully assigned default/web to node-1");
}

TEST(HostText, NamesPodsAsKubeletsDo) {
  EXPECT_EQ(
      text_about_web("back-off 10s restarting failed container=c pod=web-x-default-x-rag_kinds-a(" + kHostUid + ")"),
      "back-off 10s restarting failed container=c pod=web_default(" + kUid + ")");
  EXPECT_EQ(text_about_web("failed to reserve sandbox name \"c_web-x-default-x-rag_kinds-a_" + kHostUid + "_0\""),
            "failed to reserve sandbox name \"c_web_default(" + kUid + ")_0\"");
  EXPECT_EQ(text_about_web("killed for kube-system-pod_kube-system(" + kHostUid + ")"), "killed for another pod");
  EXPECT_EQ(text_about_web("of pod db-x-prod-x-other_kinds-a(" + kHostUid + "), cert-x-default-x-rag_kinds-a"),
            "of pod another pod, cert_default");
  EXPECT_EQ(text_about_web("my_own_words (not a uid) and snake_case(x)"), "my_own_words (not a uid) and snake_case(x)");
}

TEST(HostText, NeverNamesTheHostsNamespace) {
  EXPECT_EQ(text_about_web("secrets \"cert-x-default-x-rag\" not found in namespace \"kinds-a\""),
            "secrets \"default/cert\" not found in namespace \"default\"");
  EXPECT_EQ(text_about_web("Secret kinds-a/of-the-host is odd"), "Secret (not yours) is odd");
  // But a registry's folder of the same name is an image.
  EXPECT_EQ(text_about_web("Pulling image \"kinds-a/app\", then kinds-a/app:1.2"),
            "Pulling image \"kinds-a/app\", then kinds-a/app:1.2");
  EXPECT_EQ(text_about_web("the default of kinds-a counts in namespace default", "default"),
            "the default of kinds-a counts in namespace default");
}

TEST(HostText, NamesNoAccountOfTheHost) {
  EXPECT_EQ(text_about_web(
                "pods \"web-x-default-x-rag\" is forbidden: User \"system:serviceaccount:kinds-a:sublet-syncer-rag\" "
                "cannot get resource \"pods/log\" in API group \"\" in the namespace \"kinds-a\""),
            "pods \"web\" is forbidden: User \"(not yours)\" cannot get resource \"pods/log\" in API group \"\" in the "
            "namespace \"default\"");
  EXPECT_EQ(text_about_web("User \"jane@platform.example\" cannot list pods, User \"x"),
            "User \"(not yours)\" cannot list pods, User \"x");
  EXPECT_EQ(text_about_web("denied for system:serviceaccount:kinds-a:sublet-syncer-rag, system:serviceaccount:"),
            "denied for (not yours), (not yours)");
}

TEST(HostText, RecognisesTheTenantsOwnBeforeItMasksOthers) {
  EXPECT_EQ(text_about_web("Assigned pod kinds-a/web-x-default-x-rag to node node-1"),
            "Assigned pod default/web to node node-1");
  EXPECT_EQ(text_about_web("pod default/web and pod kinds-a/cert-x-default-x-rag"),
            "pod default/web and pod default/cert");
  EXPECT_EQ(text_about_web("Pod/kinds-a/web-x-default-x-rag waits"), "Pod/default/web waits");
}

TEST(HostText, MasksEveryPairOfAnotherNamespace) {
  EXPECT_EQ(text_about_web("preempted by workload team-b/train-7"), "preempted by workload (not yours)");
  EXPECT_EQ(text_about_web("queue team-b/gpu is full; see Workload/team-b/train-7, podgroups/team-b/gang"),
            "queue (not yours) is full; see Workload/(not yours), podgroups/(not yours)");
  EXPECT_EQ(text_about_web("owned by default/db"), "owned by (not yours)");  // a namespace of that name on the host
}

TEST(HostText, KnowsNamespaceUnderscorePodAndTheUidOfTheHostPod) {
  EXPECT_EQ(text_about_web("log of kinds-a_web-x-default-x-rag_" + kHostUid + " is gone"),
            "log of default_web(" + kUid + ") is gone");
  EXPECT_EQ(text_about_web("group kinds-a_web-x-default-x-rag, not kinds-a_critical"),
            "group default_web, not another pod");
  HostTextNames names = names_of("kinds-a");
  names.host_name = "web-x-default-x-rag";
  names.about = {"default", "web", kUid};
  names.host_uid = kHostUid;
  EXPECT_EQ(tenant_text("no sandbox for " + kHostUid + ", pod" + "aaaaaaaa_2222_4333_8444_555555555555.slice", names),
            "no sandbox for " + kUid + ", pod11111111_2222_4333_8444_555555555555.slice");
}

TEST(HostText, LeavesImagesPathsVersionsAndResources) {
  for (const char* text :
       {"Failed to pull image \"team-b/app\": pull access denied for team-b/app, repository does not exist",
        "exec: \"bin/sh\": stat bin/sh: no such file or directory", "no kind \"Job\" in version \"batch/v1\"",
        "Insufficient nvidia.com/gpu; 1/3 nodes had taint node.kubernetes.io/not-ready",
        "mounting /etc/team-b/app failed", "Content-Type text/plain is not application/json"})
    EXPECT_EQ(text_about_web(text), text);
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
