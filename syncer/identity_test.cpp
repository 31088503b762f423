// Someone on the host removes what identifies host objects: it is put back, and neither side's object is lost.
#include <gtest/gtest.h>

#include "syncer/two_servers_testing.h"

namespace sublet::syncer {
namespace {

using schema::Document;

class Identity : public TwoServers {
 protected:
  void remove_label(const kube::Resource& resource, const std::string& host_name) {
    host.patch(resource, kHostNamespace, host_name,
               R"({"metadata":{"labels":{"sublet.dev/virtual-cluster-uid":null}}})");
  }
  bool is_labelled(const kube::Resource& resource, const std::string& host_name) {
    return host.get(resource, kHostNamespace, host_name)["metadata"]["labels"][kLabelTenantUid].text() == "vc-uid";
  }
};

TEST_F(Identity, APodGetsItsLabelBackAndRunsOn) {
  start_syncer();
  const std::string uid = create_pod("web")["metadata"]["uid"].string();
  await_host_pod("web");
  run_on_host("web");
  await_phase("web", "Running");
  const std::string host_uid = host_pod("web")["metadata"]["uid"].string();
  remove_label(kPods, host_name_of("web"));
  eventually([&] { return is_labelled(kPods, host_name_of("web")); }, "the label is back");
  settle();
  EXPECT_EQ(tenant_pod("web")["metadata"]["uid"].text(), uid);
  EXPECT_FALSE(tenant_pod("web")["metadata"].has("deletionTimestamp"));
  EXPECT_EQ(host_pod("web")["metadata"]["uid"].text(), host_uid);
  tenant.remove(kPods, kTenantNamespace, "web");
  eventually([&] { return host_pod("web")["metadata"].has("deletionTimestamp"); }, "it ends with the tenant's");
}

TEST_F(Identity, APodGetsItsAnnotationsBackAndRunsOn) {
  start_syncer();
  const std::string uid = create_pod("web")["metadata"]["uid"].string();
  await_host_pod("web");
  run_on_host("web");
  await_phase("web", "Running");
  host.patch(kPods, kHostNamespace, host_name_of("web"),
             R"({"metadata":{"annotations":{"sublet.dev/tenant-uid":null,"sublet.dev/tenant-name":null}}})");
  eventually([&] { return host_pod("web")["metadata"]["annotations"][kAnnotationTenantUid].text() == uid; },
             "the annotation is back");
  settle();
  EXPECT_EQ(host_pod("web")["metadata"]["annotations"][kAnnotationTenantName].text(), "web");
  EXPECT_FALSE(host_pod("web")["metadata"].has("deletionTimestamp"));
  EXPECT_EQ(tenant_pod("web")["status"]["phase"].text(), "Running");
}

TEST_F(Identity, AServiceGetsItsLabelBack) {
  start_syncer();
  tenant.create(
      kServices,
      R"({"metadata":{"name":"db","namespace":"default"},"spec":{"selector":{"a":"b"},"ports":[{"port":1}]}})");
  eventually([&] { return is_labelled(kServices, host_name_of("db")); }, "it is on the host");
  settle();
  const std::string host_uid = host.get(kServices, kHostNamespace, host_name_of("db"))["metadata"]["uid"].string();
  remove_label(kServices, host_name_of("db"));
  eventually([&] { return is_labelled(kServices, host_name_of("db")); }, "the label is back");
  EXPECT_EQ(host.get(kServices, kHostNamespace, host_name_of("db"))["metadata"]["uid"].text(), host_uid);
}

TEST_F(Identity, AnObjectOfAnotherVirtualClusterStaysForeign) {
  host.create(kServices, R"({"metadata":{"name":")" + host_name_of("db") +
                             R"(","namespace":"team","labels":{"sublet.dev/managed-by":"other"}},)"
                             R"("spec":{"ports":[{"port":1}]}})");
  start_syncer();
  tenant.create(kServices, R"({"metadata":{"name":"db","namespace":"default"},"spec":{"ports":[{"port":1}]}})");
  EXPECT_NE(await_event("db", "HostNameTaken"), "");
  EXPECT_FALSE(is_labelled(kServices, host_name_of("db")));
}

class SchedulingGates : public TwoServers {
 protected:
  static std::string gates_of(const Document& pod) { return pod["spec"]["schedulingGates"].to_json(); }
};

TEST_F(SchedulingGates, CrossUnderNamesOfTheirOwnAndTheHostsAreNotTheTenantsToRemove) {
  // A controller of the host adds its gate to every pod.
  faults.change([](net::Request& request) {
    if (request.method != "POST" || !request.path().ends_with("/pods")) return;
    auto pod = Document::parse_json(request.body);
    if (!pod) return;
    pod->root().object("spec").array("schedulingGates").push_object().put("name", "kueue.x-k8s.io/admission");
    request.body = pod->to_json();
  });
  start_syncer();
  create_pod("web", R"(,"schedulingGates":[{"name":"kueue.x-k8s.io/admission"}])");
  EXPECT_EQ(gates_of(await_host_pod("web")),
            R"([{"name":"tp.sublet.dev/kueue.x-k8s.io_admission"},{"name":"kueue.x-k8s.io/admission"}])");
  tenant.patch(kPods, kTenantNamespace, "web", R"({"spec":{"schedulingGates":null}})");
  eventually([&] { return gates_of(host_pod("web")) == R"([{"name":"kueue.x-k8s.io/admission"}])"; },
             "the tenant's gate has gone, the host's stays");
  host.patch(kPods, kHostNamespace, host_name_of("web"),
             R"({"status":{"conditions":[{"type":"PodScheduled","status":"False","reason":"SchedulingGated",)"
             R"("message":"Scheduling is blocked due to non-empty scheduling gates"}]}})",
             "status");
  eventually(
      [&] {
        for (const Document pod = tenant_pod("web"); const schema::Value condition : pod["status"]["conditions"])
          if (condition["message"].text() ==
              "Scheduling is blocked due to non-empty scheduling gates: kueue.x-k8s.io/admission (of the host)")
            return true;
        return false;
      },
      "the tenant reads which gate holds the pod");
  faults.change(nullptr);
}

}  // namespace
}  // namespace sublet::syncer
