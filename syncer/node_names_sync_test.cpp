// Pseudo names of nodes between two servers: the tenant never meets the host's, and pods go where they mean to.
#include <gtest/gtest.h>

#include "sublet/base/text.h"
#include "sublet/syncer/node_names.h"
#include "sublet/syncer/syncer.h"
#include "syncer/two_servers_testing.h"

namespace sublet::syncer {
namespace {

using schema::Document;
using schema::Value;

const kube::Resource kResourceSlices{"resource.k8s.io", "v1", "resourceslices"};

class NodeNamesSync : public TwoServers {
 protected:
  void start(const std::string& template_yaml) {
    const auto loaded = patches::Template::load(template_yaml, "t.yaml");
    ASSERT_TRUE(loaded) << loaded.error().message;
    resolved_template = loaded->resolve({}, "rag", "team").value();
    SyncerOptions options = syncer_options();
    if (resolved_template->config().pseudo_node_names) options.context.node_names = std::make_shared<NodeNames>("key");
    syncer = std::make_unique<Syncer>(syncer_loop.loop(), *workers, tenant.client_through(tenant_faults),
                                      host.client_through(faults), std::move(options));
    const auto started = syncer->start();
    ASSERT_TRUE(started) << started.error().message;
  }
  static std::string pseudo(std::string_view host_node) { return NodeNames("key").to_tenant(host_node); }
  bool tenant_has(const kube::Resource& resource, const std::string& name) {
    return tenant.get(resource, "", name).root().is_object();
  }
  void make_node(const std::string& name) {
    host.create(kNodes,
                R"({"metadata":{"name":")" + name + R"(","labels":{"kubernetes.io/hostname":")" + name + R"("}}})");
  }
  void host_says(const std::string& pod, const std::string& reason, const std::string& message,
                 const std::string& source = "node-1") {
    host.create(kEvents, R"({"metadata":{"name":"e-)" + pod + "-" + to_lower(reason) +
                             R"(","namespace":"team"},"type":"Warning","reason":")" + reason + R"(","message":")" +
                             message + R"(","source":{"component":"kubelet","host":")" + source +
                             R"("},"involvedObject":{"kind":"Pod","namespace":"team","name":")" + host_name_of(pod) +
                             R"("}})");
  }
  /// Everything that the tenant can read, as JSON.
  std::string all_of_tenant() {
    std::string all;
    for (const kube::Resource& resource : {kNodes, kPods, kEvents, kCsiNodes, kResourceSlices, kClaims}) {
      const auto list = tenant.client().list(resource, "");
      EXPECT_TRUE(list) << resource.resource;
      if (list) all += list->to_json() + "\n";
    }
    return all;
  }

  const std::string on =
      "sync: {fromHost: {nodes: {pseudoNames: true}, csiNodes: {enabled: true}, deviceClasses: {enabled: true}}}\n";
};

TEST_F(NodeNamesSync, NothingOfTheHostsNodesIsInTheTenant) {
  host.patch(kNodes, "", "node-1",
             R"({"metadata":{"labels":{"kubernetes.io/hostname":"node-1"}},"spec":{"podCIDR":"10.9.9.0/24"}})");
  host.patch(
      kNodes, "", "node-1",
      R"({"status":{"addresses":[{"type":"InternalIP","address":"10.20.30.40"},{"type":"Hostname","address":"node-1"}],)"
      R"("conditions":[{"type":"Ready","status":"True","message":"kubelet of node-1"}]}})",
      "status");
  host.create(kCsiNodes, R"({"metadata":{"name":"node-1"},"spec":{"drivers":[{"name":"d","nodeID":"i-0abc"}]}})");
  host.create(kResourceSlices,
              R"({"metadata":{"name":"node-1-gpu"},"spec":{"driver":"d","nodeName":"node-1","pool":)"
              R"({"name":"node-1","generation":1,"resourceSliceCount":1},"devices":[{"name":"gpu-0"}]}})");
  start(on);
  eventually([&] { return tenant_has(kNodes, pseudo("node-1")) && tenant_has(kCsiNodes, pseudo("node-1")); },
             "the node is there");
  eventually([&] { return tenant.client().list(kResourceSlices, "")->root()["items"].size() == 1; }, "and what it has");
  create_pod("web");
  run_on_host("web");
  host.patch(
      kPods, kHostNamespace, host_name_of("web"),
      R"({"status":{"hostIP":"10.20.30.40","hostIPs":[{"ip":"10.20.30.40"}],"conditions":[{"type":"PodScheduled",)"
      R"("status":"True","message":"put on node-1 by 10.20.30.40"}]}})",
      "status");
  await_phase("web", "Running");
  EXPECT_EQ(tenant_pod("web")["spec"]["nodeName"].text(), pseudo("node-1"));
  host_says("web", "Scheduled", "Successfully assigned team/" + host_name_of("web") + " to node-1");
  EXPECT_EQ(await_event("web", "Scheduled"), "Successfully assigned default/web to " + pseudo("node-1"));
  host_says("web", "Unhealthy", "Readiness probe failed: is it node-1?");
  EXPECT_EQ(await_event("web", "Unhealthy"), "Readiness probe failed: is it node-1?")
      << "a container must not find out by its own words which names are nodes'";
  tenant.create(kClaims, R"({"metadata":{"name":"data","namespace":"default"},"spec":{"accessModes":["ReadWriteOnce"],)"
                         R"("resources":{"requests":{"storage":"1Gi"}}}})");
  eventually([&] { return host.get(kClaims, kHostNamespace, host_name_of("data")).root().is_object(); }, "a claim");
  host.patch(
      kClaims, kHostNamespace, host_name_of("data"),
      R"({"metadata":{"annotations":{"volume.kubernetes.io/selected-node":"node-1"}},"spec":{"volumeName":"pv-node-1"}})");
  eventually([&] { return !tenant.get(kClaims, "default", "data")["spec"]["volumeName"].text().empty(); },
             "and its volume");
  settle();
  EXPECT_EQ(
      tenant.get(kClaims, "default", "data")["metadata"]["annotations"]["volume.kubernetes.io/selected-node"].text(),
      pseudo("node-1"));
  std::string all = all_of_tenant();
  for (auto at = all.find("is it node-1?"); at != std::string::npos; at = all.find("is it node-1?")) all.erase(at, 13);
  for (const char* word : {"node-1", "10.20.30.40", "10.9.9", "i-0abc"})
    EXPECT_EQ(all.find(word), std::string::npos) << word << " in " << all;

  const auto writes = tenant_faults.writes(), host_writes = faults.writes();
  syncer->resync();
  settle();
  EXPECT_EQ(tenant_faults.writes(), writes) << "a resync changes nothing";
  EXPECT_EQ(faults.writes(), host_writes);
  stop_syncer();
  start(on);
  settle();
  EXPECT_TRUE(tenant_has(kNodes, pseudo("node-1")));
  EXPECT_EQ(tenant_faults.writes(), writes) << "nor does a syncer after this one, with the same key";
  EXPECT_EQ(faults.writes(), host_writes);
}

TEST_F(NodeNamesSync, NodesComeChangeAndGoAndAreMadeAnewAsBefore) {
  start(on);
  make_node("gpu-1");
  eventually([&] { return tenant_has(kNodes, pseudo("gpu-1")); }, "a node that comes");
  host.patch(kNodes, "", "gpu-1", R"({"spec":{"taints":[{"key":"gpu","value":"gpu-1","effect":"NoSchedule"}]}})");
  eventually(
      [&] {
        const Document node = tenant.get(kNodes, "", pseudo("gpu-1"));
        return node["spec"]["taints"].to_json() ==
               R"([{"key":"gpu","value":")" + pseudo("gpu-1") + R"(","effect":"NoSchedule"}])";
      },
      "its taint");
  const auto cordoned =
      tenant.client().patch(kNodes, "", pseudo("gpu-1"), kube::PatchType::merge, R"({"spec":{"unschedulable":true}})");
  ASSERT_FALSE(cordoned);
  EXPECT_NE(cordoned.error().message.find("only there it can be changed"), std::string::npos)
      << cordoned.error().message;
  host.remove(kNodes, "", "gpu-1");
  eventually([&] { return !tenant_has(kNodes, pseudo("gpu-1")); }, "one that goes");
  make_node("gpu-1");
  eventually([&] { return tenant_has(kNodes, pseudo("gpu-1")); }, "and comes again");
  settle();
  EXPECT_EQ(tenant.client().list(kNodes, "")->root()["items"].size(), 2u);
}

TEST_F(NodeNamesSync, SwitchedOnOrOffTheOthersGo) {
  start("{}\n");
  eventually([&] { return tenant_has(kNodes, "node-1"); }, "by the host's name");
  stop_syncer();
  start(on);
  eventually([&] { return tenant_has(kNodes, pseudo("node-1")) && !tenant_has(kNodes, "node-1"); },
             "by the pseudo name alone");
  stop_syncer();
  start("{}\n");
  eventually([&] { return tenant_has(kNodes, "node-1") && !tenant_has(kNodes, pseudo("node-1")); }, "and back");
}

TEST_F(NodeNamesSync, PodsGoToTheNodeThatTheyMean) {
  make_node("gpu-1");
  start(on);
  create_pod("daemon",
             R"(,"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[)"
             R"({"matchFields":[{"key":"metadata.name","operator":"In","values":[")" +
                 pseudo("gpu-1") + R"("]}]}]}}})");
  const Document daemon = await_host_pod("daemon");
  EXPECT_NE(daemon["spec"]["affinity"].to_json().find(R"("values":["gpu-1"])"), std::string::npos)
      << daemon["spec"].to_json();
  create_pod("pinned", R"(,"nodeSelector":{"kubernetes.io/hostname":")" + pseudo("gpu-1") + R"("})");
  EXPECT_EQ(await_host_pod("pinned")["spec"]["nodeSelector"]["kubernetes.io/hostname"].text(), "gpu-1");
  bind_on_host("pinned");
  eventually([&] { return tenant_pod("pinned")["spec"]["nodeName"].text() == pseudo("node-1"); }, "it is bound");
  // A guess of the host's name leads nowhere, also where a node has it.
  create_pod("guess", R"(,"nodeSelector":{"kubernetes.io/hostname":"gpu-1"})");
  EXPECT_EQ(await_event("guess", "SyncDenied"),
            "node \"gpu-1\", where alone the pod may go, is none of those that the host shows");
  settle();
  EXPECT_FALSE(host_pod("guess").root().is_object());
  // One that is not there yet brings its pods when it comes.
  create_pod("early", R"(,"nodeSelector":{"kubernetes.io/hostname":")" + pseudo("gpu-2") + R"("})");
  (void)await_event("early", "SyncDenied");
  make_node("gpu-2");
  EXPECT_EQ(await_host_pod("early")["spec"]["nodeSelector"]["kubernetes.io/hostname"].text(), "gpu-2");
}

TEST_F(NodeNamesSync, TextsNameNoNodeThatIsNotShownEither) {
  host.create(kNodes, R"({"metadata":{"name":"shown-1","labels":{"team":"legal"}}})");
  start("sync: {fromHost: {nodes: {pseudoNames: true, selector: {labels: {team: legal}}}}}\n");
  eventually([&] { return tenant_has(kNodes, pseudo("shown-1")); }, "the shown node");
  create_pod("web");
  await_host_pod("web");
  host_says("web", "FailedScheduling", "preempted on node-1, for shown-1", "shown-1");
  EXPECT_EQ(await_event("web", "FailedScheduling"), "preempted on " + pseudo("node-1") + ", for " + pseudo("shown-1"));
  EXPECT_FALSE(tenant_has(kNodes, pseudo("node-1")));
}

TEST_F(NodeNamesSync, AMeasuredNodeHasTheTenantsName) {
  start(on);
  eventually([&] { return syncer->measured_node("node-1").has_value(); }, "the tenant has the node");
  EXPECT_EQ(syncer->measured_node("node-1")->name, pseudo("node-1"));
  EXPECT_FALSE(syncer->measured_node(pseudo("node-1")));
}

}  // namespace
}  // namespace sublet::syncer
