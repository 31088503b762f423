// The syncer between two real API servers, with a host that errs, goes away, mutates and holds names.
#include "sublet/syncer/syncer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <set>
#include <vector>

#include "sublet/base/mutex.h"
#include "sublet/kube/selectors.h"
#include "syncer/translate/names.h"
#include "syncer/two_servers_testing.h"

namespace sublet::syncer {
namespace {

using schema::Document;
using schema::Value;
using std::chrono::milliseconds;
using std::chrono::seconds;

const std::string kInjectedStatus =
    R"(,{"name":"injected","image":"mesh","imageID":"i","ready":true,"restartCount":0,"state":{}})";

std::string text(const Document& document, std::string_view dotted) { return document.root().path(dotted).string(); }

bool names(const Value& list, std::string_view name) {
  for (const Value item : list)
    if (item["name"].text() == name) return true;
  return false;
}

class SyncerTest : public TwoServers {
 protected:
  // A tenant pod that runs, with a ConfigMap, a Secret and a token; everything is in place on both sides.
  void full_pod(const std::string& name) {
    tenant.create(kConfigMaps, R"({"metadata":{"name":"settings","namespace":"default"},"data":{"k":"v1"}})");
    tenant.create(kSecrets, R"({"metadata":{"name":"key","namespace":"default"},"data":{"k":"djE="}})");
    tenant.create(kPods, R"({"metadata":{"name":")" + name + R"(","namespace":"default","labels":{"app":"a"}},"spec":{
      "containers":[{"name":"main","image":"busybox","envFrom":[{"configMapRef":{"name":"settings"}},
                                                                {"secretRef":{"name":"key"}}]}]}})");
    run_on_host(name);
    await_phase(name, "Running");
    await_host(kConfigMaps, host_name_of("settings"));
    await_host(kSecrets, host_name_of("key"));
    await_host(kSecrets, token_secret(name));
  }

  // A change of a pod's label, as the tenant makes it and as the host has it.
  void turn(const std::string& pod, int number) {
    tenant.patch(kPods, kTenantNamespace, pod, R"({"metadata":{"labels":{"turn":")" + std::to_string(number) + "\"}}}");
  }
  std::string turn_on_host(const std::string& pod) {
    return host_pod(pod)["metadata"]["labels"]["t.sublet.dev/turn"].string();
  }
  // All that there is to see is seen; what waits for its time does so still.
  void await_rest() {
    eventually([&] { return syncer->caught_up().value_or(false) && syncer->idle(); }, "the syncer has seen all");
  }

  void use_template(const std::string& text) {
    const auto loaded = patches::Template::load(text, "t.yaml");
    ASSERT_TRUE(loaded) << loaded.error().message;
    resolved_template = loaded->resolve({}, "rag", "team").value();
  }

  std::string token_secret(const std::string& pod) {
    const Document on_host = host_pod(pod);
    for (const Value volume : on_host["spec"]["volumes"])
      for (const Value source : volume["projected"]["sources"])
        if (const Value secret = source["secret"]; secret["name"].text().find("token") != std::string_view::npos)
          return secret["name"].string();
    ADD_FAILURE() << "no token volume: " << on_host.to_json();
    return {};
  }

  Document await_host(const kube::Resource& resource, const std::string& name) {
    Document object;
    eventually(
        [&] {
          object = host.get(resource, kHostNamespace, name);
          return object.root().is_object();
        },
        "the host has " + resource.resource + " " + name);
    return object;
  }
  void await_gone(Cluster& cluster, const kube::Resource& resource, const std::string& namespace_name,
                  const std::string& name) {
    eventually([&] { return !cluster.get(resource, namespace_name, name).root().is_object(); },
               resource.resource + " " + name + " is gone");
  }
  void host_status(const std::string& pod, std::string_view status) {
    host.patch(kPods, kHostNamespace, host_name_of(pod), std::string(R"({"status":)").append(status) + "}", "status");
  }
};

TEST_F(SyncerTest, APodCrossesWithWhatItUsesAndItsStatusComesBack) {
  start_syncer();
  full_pod("web");
  const Document pod = tenant_pod("web"), on_host = host_pod("web");
  EXPECT_EQ(text(pod, "spec.nodeName"), "node-1");
  EXPECT_EQ(text(pod, "status.podIP"), "10.0.0.7");
  EXPECT_EQ(text(on_host, "spec.serviceAccountName"), "workload");
  EXPECT_EQ(on_host["metadata"]["annotations"][kAnnotationTenantUid].text(), text(pod, "metadata.uid"));
  EXPECT_EQ(text(await_host(kConfigMaps, host_name_of("settings")), "data.k"), "v1");
}

// kubernetes#116410: a Job that waits for its pods' end would wait for ever.
TEST_F(SyncerTest, APodThatAFinalizerKeepsHasFailedOnceItsHostPodIsGone) {
  start_syncer();
  for (const std::string name : {"by-tenant", "by-host"}) {
    create_pod(name, R"(,"terminationGracePeriodSeconds":0)", R"(,"finalizers":["example.com/stays"])");
    await_host_pod(name);
    run_on_host(name);
    host_status(name, R"({"conditions":[{"type":"Ready","status":"True"}]})");
    await_phase(name, "Running");
    const auto is_ready = [&] {
      for (const Document pod = tenant_pod(name); const Value condition : pod["status"]["conditions"])
        if (condition["type"].text() == "Ready" && condition["status"].text() == "True") return true;
      return false;
    };
    eventually(is_ready, name + " is ready");
  }
  tenant.remove(kPods, kTenantNamespace, "by-tenant");
  host.remove(kPods, kHostNamespace, host_name_of("by-host"), 0);
  for (const std::string name : {"by-tenant", "by-host"}) {
    await_phase(name, "Failed");
    const Document pod = tenant_pod(name);
    const Value container = pod["status"]["containerStatuses"].at(0);
    EXPECT_EQ(container["state"]["terminated"]["reason"].text(), "ContainerStatusUnknown");
    EXPECT_FALSE(container["ready"].boolean(true));
    std::string ready;
    for (const Value condition : pod["status"]["conditions"])
      if (condition["type"].text() == "Ready") ready = condition["status"].string() + condition["reason"].string();
    EXPECT_EQ(ready, "FalsePodFailed");
    tenant.patch(kPods, kTenantNamespace, name, R"({"metadata":{"finalizers":null}})");
    eventually([&] { return !tenant_pod(name).root().is_object(); }, name + " is gone");
  }
}

TEST_F(SyncerTest, RuntimeClassesAreThereForTheFirstPod) {
  host.create(kRuntimeClasses, R"({"metadata":{"name":"nvidia"},"handler":"nvidia"})");
  start_syncer();
  EXPECT_EQ(text(tenant.get(kRuntimeClasses, "", "nvidia"), "handler"), "nvidia");
}

TEST_F(SyncerTest, OnlyTheNodesAndClassesThatTheTemplateSelectsAreShown) {
  use_template(
      "sync: {fromHost: {nodes: {selector: {labels: {team: legal}}}, runtimeClasses: {selector: {matchLabels: {tenant: "
      "'yes'}}}}}\n");
  host.create(kNodes, R"({"metadata":{"name":"node-2","labels":{"team":"legal"}}})");
  host.create(kNodes, R"({"metadata":{"name":"node-3","labels":{"team":"legal"}}})");
  host.create(kRuntimeClasses, R"({"metadata":{"name":"hidden"},"handler":"h"})");
  host.create(kRuntimeClasses, R"({"metadata":{"name":"shown","labels":{"tenant":"yes"}},"handler":"h"})");
  start_syncer();
  const auto has = [&](const kube::Resource& resource, const std::string& name) {
    return tenant.get(resource, "", name).root().is_object();
  };
  eventually([&] { return has(kNodes, "node-2") && has(kNodes, "node-3") && has(kRuntimeClasses, "shown"); },
             "the selected ones are there");
  settle();
  EXPECT_FALSE(has(kNodes, "node-1"));
  EXPECT_FALSE(has(kRuntimeClasses, "hidden"));
  create_pod("web");
  EXPECT_EQ(text(await_host(kPods, host_name_of("web")), "spec.nodeSelector.team"), "legal");

  // Nor is a class that is not shown there for a pod, though the tenant's server let it pass.
  tenant.create(kRuntimeClasses, R"({"metadata":{"name":"hidden"},"handler":"h"})");
  create_pod("sly", R"(,"runtimeClassName":"hidden")");
  EXPECT_THAT(await_event("sly", "SyncDenied"), testing::HasSubstr("none of those that the host shows"));
  create_pod("open", R"(,"runtimeClassName":"shown")");
  EXPECT_EQ(text(await_host(kPods, host_name_of("open")), "spec.runtimeClassName"), "shown");
  EXPECT_FALSE(host.get(kPods, kHostNamespace, host_name_of("sly")).root().is_object());

  host.patch(kNodes, "", "node-1", R"({"metadata":{"labels":{"team":"legal"}}})");
  host.patch(kNodes, "", "node-2", R"({"metadata":{"labels":{"team":"other"}}})");
  eventually([&] { return has(kNodes, "node-1") && !has(kNodes, "node-2"); }, "the tenant's nodes follow the labels");
}

// The tenant's server refuses such writes by anybody else.
TEST_F(SyncerTest, WhatComesFromTheHostFollowsIt) {
  host.create(kRuntimeClasses, R"({"metadata":{"name":"nvidia"},"handler":"nvidia"})");
  tenant.create(kRuntimeClasses, R"({"metadata":{"name":"mine"},"handler":"mine"})");
  start_syncer();
  eventually([&] { return tenant.get(kNodes, "", "node-1").root().is_object(); }, "the node is there");
  const auto refused =
      tenant.client().patch(kNodes, "", "node-1", kube::PatchType::merge, R"({"spec":{"unschedulable":true}})");
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().is(Reason::forbidden)) << refused.error().message;

  host.patch(kNodes, "", "node-1",
             R"({"metadata":{"labels":{"topology.kubernetes.io/zone":"b","a":"b"}},"spec":{"unschedulable":true}})");
  host.patch(kNodes, "", "node-1", R"({"status":{"nodeInfo":{"kernelVersion":"6.1"}}})", "status");
  host.remove(kRuntimeClasses, "", "nvidia");
  eventually(
      [&] {
        const auto node = tenant.get(kNodes, "", "node-1");
        return node["metadata"]["labels"]["topology.kubernetes.io/zone"].text() == "b" &&
               node["spec"]["unschedulable"].boolean() && text(node, "status.nodeInfo.kernelVersion") == "6.1" &&
               !tenant.get(kRuntimeClasses, "", "nvidia").root().is_object();
      },
      "the tenant shows the host's node, and no class that the host no longer has");
  EXPECT_EQ(text(tenant.get(kRuntimeClasses, "", "mine"), "handler"), "mine");
}

TEST_F(SyncerTest, WhatATenantFlapsIsWrittenNowAndThenAndEndsAsItIs) {
  clock.own_all_time();
  start_syncer();
  create_pod("web");
  await_host_pod("web");
  settle();
  const auto before = faults.writes();
  for (int i = 1; i <= 300; ++i) {
    turn("web", i);
    if (i == 1) eventually([&] { return turn_on_host("web") == "1"; }, "the first change does not wait");
  }
  await_rest();
  EXPECT_EQ(faults.writes(), before + 1);
  turn("web", 301);
  create_pod("other");  // what is new does not wait for it
  await_host_pod("other");
  await_rest();
  EXPECT_EQ(turn_on_host("web"), "1");
  clock.advance(ChangePace::kFirstPause);
  eventually([&] { return turn_on_host("web") == "301"; }, "the last state is carried");
  settle();
  EXPECT_EQ(faults.writes(), before + 3) << "one of them made the other pod";
}

TEST_F(SyncerTest, ChangesOfManyObjectsComeAsManyASecondAsIsAllowed) {
  host_changes_at_once = 3;
  host_changes_per_second = 1;
  clock.own_all_time();
  start_syncer();
  const std::vector<std::string> names = {"a", "b", "c", "d", "e"};
  for (const auto& name : names) create_pod(name);
  for (const auto& name : names) await_host_pod(name);
  settle();
  const auto before = faults.writes();
  for (const auto& name : names) turn(name, 1);
  await_rest();
  EXPECT_EQ(faults.writes(), before + 3);
  eventually(
      [&] {
        clock.advance(seconds(1));
        return std::ranges::all_of(names, [&](const auto& name) { return turn_on_host(name) == "1"; });
      },
      "all are carried");
}

// user-pain, demand 10: a virtual cluster in which nothing happens costs the host no write.
TEST_F(SyncerTest, AHundredResyncsWriteNothing) {
  start_syncer();
  full_pod("web");
  tenant.create(kServices, R"({"metadata":{"name":"web","namespace":"default"},
                               "spec":{"selector":{"app":"a"},"ports":[{"port":80}]}})");
  await_host(kServices, host_name_of("web"));
  settle();
  const auto host_writes = faults.writes(), tenant_writes = tenant_faults.writes();
  const auto reconciles = syncer->stats().reconciles;
  for (int i = 0; i < 100; ++i) {
    syncer->resync();
    eventually([&] { return syncer->idle(); }, "the syncer is idle");
  }
  EXPECT_GE(syncer->stats().reconciles, reconciles + 100);
  EXPECT_EQ(faults.writes(), host_writes);
  EXPECT_EQ(tenant_faults.writes(), tenant_writes);
}

TEST_F(SyncerTest, ARestartWritesNothing) {
  start_syncer();
  full_pod("web");
  host.create(kEvents,
              R"({"metadata":{"name":"e","namespace":"team"},"reason":"Pulled","message":"pulled","type":"Normal",
      "involvedObject":{"kind":"Pod","namespace":"team","name":")" +
                  host_name_of("web") + R"("}})");
  await_event("web", "Pulled");
  settle();
  const auto tenant_revision = tenant.revision(), host_revision = host.revision();
  const auto host_writes = faults.writes(), tenant_writes = tenant_faults.writes();
  stop_syncer();
  start_syncer();
  settle();
  EXPECT_EQ(faults.writes(), host_writes);
  EXPECT_EQ(tenant_faults.writes(), tenant_writes) << "requests that write, even when they change nothing";
  EXPECT_EQ(host.revision(), host_revision);
  EXPECT_EQ(tenant.revision(), tenant_revision);
}

TEST_F(SyncerTest, ConflictsAreOvercomeOnEveryVerb) {
  start_syncer();
  faults.inject("POST", "/pods", 2, Faults::status(409, "Conflict"));
  create_pod("web", "", R"(,"labels":{"app":"a"})");
  run_on_host("web");
  tenant_faults.inject("PATCH", "/pods/web/status", 2, Faults::status(409, "Conflict"));
  host_status("web", R"({"message":"hot"})");
  eventually([&] { return text(tenant_pod("web"), "status.message") == "hot"; }, "the status came");
  faults.inject("PATCH", "/pods/", 2, Faults::status(409, "Conflict"));
  tenant.patch(kPods, kTenantNamespace, "web", R"({"metadata":{"labels":{"app":"b"}}})");
  eventually([&] { return host_pod("web")["metadata"]["labels"]["t.sublet.dev/app"].text() == "b"; }, "the label came");
  // A conflict may also mean that the object changed a moment ago: it does not say that the pod is gone.
  faults.inject("DELETE", "/pods/", 2, Faults::status(409, "Conflict"));
  tenant.remove(kPods, kTenantNamespace, "web");
  eventually([&] { return host_pod("web")["metadata"].has("deletionTimestamp"); }, "the host pod is ending");
  EXPECT_EQ(faults.left(), 0);
  EXPECT_EQ(tenant_faults.left(), 0);
}

TEST_F(SyncerTest, ConflictsWhenTheHostEndsAPodAreOvercome) {
  start_syncer();
  create_pod("web");
  run_on_host("web");
  await_phase("web", "Running");
  tenant_faults.inject("DELETE", "/pods/web", 2, Faults::status(409, "Conflict"));
  host.remove(kPods, kHostNamespace, host_name_of("web"), 0);
  await_gone(tenant, kPods, kTenantNamespace, "web");
}

TEST_F(SyncerTest, AnExpiredWatchAndAnExpiredListAreOvercome) {
  start_syncer();
  create_pod("web");
  run_on_host("web");
  await_phase("web", "Running");
  const std::string host_uid = text(host_pod("web"), "metadata.uid");
  faults.inject("GET", "/namespaces/team/pods?", 2, Faults::status(410, "Expired"));  // the lists that follow
  faults.end_watches("/namespaces/team/pods",
                     R"({"type":"ERROR","object":)" + Faults::status_json(410, "Expired") + "}\n");
  tenant_faults.end_watches("/api/v1/pods",
                            R"({"type":"ERROR","object":)" + Faults::status_json(410, "Expired") + "}\n");
  eventually([&] { return faults.left() == 0; }, "the host was listed anew");
  host_status("web", R"({"message":"still here"})");
  eventually([&] { return text(tenant_pod("web"), "status.message") == "still here"; }, "the status came");
  create_pod("second");
  await_host_pod("second");
  EXPECT_EQ(text(host_pod("web"), "metadata.uid"), host_uid) << "an empty-handed relist must not remove pods";
}

TEST_F(SyncerTest, ABusyHostIsLeftInPeaceAsLongAsItAsks) {
  start_syncer();
  faults.inject("POST", "/pods", 2, Faults::status(429, "TooManyRequests", {{"Retry-After", "1"}}));
  create_pod("web");
  await_host_pod("web");
  std::vector<std::chrono::steady_clock::time_point> tries;
  for (const auto& seen : faults.seen("/pods"))
    if (seen.method == "POST") tries.push_back(seen.at);
  ASSERT_GE(tries.size(), 3u);
  EXPECT_GE(tries[1] - tries[0], milliseconds(990));
  EXPECT_GE(tries[2] - tries[1], milliseconds(990));
}

TEST_F(SyncerTest, AHostThatWasAwayIsCaughtUpWith) {
  start_syncer();
  for (const char* name : {"kept", "ended"}) {
    create_pod(name);
    run_on_host(name);
    await_phase(name, "Running");
  }
  const std::string kept_uid = text(tenant_pod("kept"), "metadata.uid");
  faults.away(true);
  create_pod("born");
  tenant.remove(kPods, kTenantNamespace, "ended");
  host_status("kept", R"({"message":"meanwhile"})");
  const auto failures = syncer->stats().failures;
  eventually([&] { return syncer->stats().failures >= failures + 3; }, "the syncer noticed");
  EXPECT_EQ(text(tenant_pod("kept"), "status.phase"), "Running") << "a host that is away has not lost its pods";
  EXPECT_TRUE(tenant_pod("ended").root().is_object()) << "its container may still run";
  faults.away(false);
  await_host_pod("born");
  eventually([&] { return host_pod("ended")["metadata"].has("deletionTimestamp"); }, "the host pod is ending");
  eventually([&] { return text(tenant_pod("kept"), "status.message") == "meanwhile"; }, "the status came");
  EXPECT_EQ(text(tenant_pod("kept"), "metadata.uid"), kept_uid);
}

TEST_F(SyncerTest, AForeignPodOfTheSameNameIsLeftAlone) {
  const std::string name = host_name_of("web");
  const Document foreign = host.create(kPods, R"({"metadata":{"name":")" + name + R"(","namespace":"team"},
      "spec":{"serviceAccountName":"workload","automountServiceAccountToken":false,
              "containers":[{"name":"theirs","image":"nginx"}]}})");
  start_syncer();
  create_pod("web");
  EXPECT_NE(await_event("web", "HostNameTaken").find(name), std::string::npos);
  tenant.remove(kPods, kTenantNamespace, "web");
  await_gone(tenant, kPods, kTenantNamespace, "web");
  EXPECT_EQ(host_pod("web").to_json(), foreign.to_json());
  create_pod("web");
  host.remove(kPods, kHostNamespace, name, 0);
  eventually([&] { return host_pod("web")["spec"]["containers"].at(0)["name"].text() == "main"; }, "the pod crossed");
}

TEST_F(SyncerTest, ForeignConfigMapsAndServicesOfTheSameNameAreLeftAlone) {
  const auto labelled_otherwise = R"("labels":{"sublet.dev/virtual-cluster-uid":"another"})";
  const Document map =
      host.create(kConfigMaps, R"({"metadata":{"name":")" + host_name_of("settings") + R"(","namespace":"team",)" +
                                   labelled_otherwise + R"(},"data":{"k":"theirs"}})");
  const Document service = host.create(kServices, R"({"metadata":{"name":")" + host_name_of("api") +
                                                      R"(","namespace":"team"},"spec":{"ports":[{"port":1}]}})");
  start_syncer();
  tenant.create(kConfigMaps, R"({"metadata":{"name":"settings","namespace":"default"},"data":{"k":"ours"}})");
  tenant.create(kServices, R"({"metadata":{"name":"api","namespace":"default"},"spec":{"ports":[{"port":2}]}})");
  create_pod("web", R"(,"volumes":[{"name":"v","configMap":{"name":"settings"}}])");
  EXPECT_NE(await_event("settings", "HostNameTaken").find(host_name_of("settings")), std::string::npos);
  EXPECT_NE(await_event("api", "HostNameTaken").find(host_name_of("api")), std::string::npos);
  tenant.remove(kConfigMaps, kTenantNamespace, "settings");
  tenant.remove(kServices, kTenantNamespace, "api");
  tenant.remove(kPods, kTenantNamespace, "web", 0);
  await_gone(host, kPods, kHostNamespace, host_name_of("web"));
  settle();
  EXPECT_EQ(host.get(kConfigMaps, kHostNamespace, host_name_of("settings")).to_json(), map.to_json());
  EXPECT_EQ(host.get(kServices, kHostNamespace, host_name_of("api")).to_json(), service.to_json());
}

// What webhooks of service meshes, registry mirrors and quota policies do to a pod at its creation.
void mutate_as_webhooks_do(net::Request& request) {
  if (request.method != "POST" || !request.path().ends_with("/pods")) return;
  auto body = Document::parse_json(request.body);
  ASSERT_TRUE(body);
  Value spec = body->root()["spec"];
  Value first = spec["containers"].at(0);
  first.put("image", "mirror.local/" + first["image"].string());
  Value variable = first.array("env").push_object();
  variable.put("name", "INJECTED");
  variable.put("value", "1");
  Value sidecar = spec["containers"].push_object();
  sidecar.put("name", "injected");
  sidecar.put("image", "mesh");
  Value volume = spec.array("volumes").push_object();
  volume.put("name", "injected");
  volume.object("emptyDir");
  spec.put("activeDeadlineSeconds", 86400);
  body->root()["metadata"].object("annotations").put("mesh.example/injected", "yes");
  request.body = body->to_json();
}

// user-pain, demand 16: what webhooks and injectors of the host add stays, and the status comes back.
TEST_F(SyncerTest, AHostThatMutatesPodsIsNotFought) {
  faults.change(mutate_as_webhooks_do);
  start_syncer();
  create_pod("web", "", R"(,"labels":{"app":"a"})");
  run_on_host("web", kInjectedStatus);
  await_phase("web", "Running");
  settle();
  const auto writes = faults.writes();
  const auto failures = syncer->stats().failures;
  for (int i = 0; i < 10; ++i) {
    syncer->resync();
    eventually([&] { return syncer->idle(); }, "the syncer is idle");
  }
  EXPECT_EQ(faults.writes(), writes);
  host_status("web", R"({"message":"hot"})");
  eventually([&] { return text(tenant_pod("web"), "status.message") == "hot"; }, "the status came");
  EXPECT_EQ(tenant_pod("web")["status"]["containerStatuses"].size(), 1u) << "the sidecar is the host's business";
  settle();
  EXPECT_EQ(faults.writes(), writes);

  // The tenant's own changes still go down, and only they.
  tenant.patch(kPods, kTenantNamespace, "web", R"({"metadata":{"labels":{"app":"b"}}})");
  eventually([&] { return host_pod("web")["metadata"]["labels"]["t.sublet.dev/app"].text() == "b"; }, "the label came");
  const Document pod = host_pod("web");
  EXPECT_EQ(pod["spec"]["containers"].at(0)["image"].text(), "mirror.local/busybox");
  EXPECT_EQ(pod["spec"]["activeDeadlineSeconds"].integer(), 86400);
  EXPECT_TRUE(names(pod["spec"]["containers"], "injected"));
  EXPECT_TRUE(names(pod["spec"]["volumes"], "injected"));
  EXPECT_TRUE(names(pod["spec"]["containers"].at(0)["env"], "INJECTED"));
  EXPECT_EQ(pod["metadata"]["annotations"]["mesh.example/injected"].text(), "yes");
  tenant.patch(kPods, kTenantNamespace, "web",
               R"({"spec":{"activeDeadlineSeconds":600,"containers":[{"name":"main","image":"nginx"}]}})");
  eventually([&] { return host_pod("web")["spec"]["containers"].at(0)["image"].text() == "nginx"; }, "the image came");
  EXPECT_EQ(host_pod("web")["spec"]["activeDeadlineSeconds"].integer(), 600);
  settle();
  EXPECT_EQ(syncer->stats().failures, failures);
}

// As KAI's binder labels a pod on one device, and one on several.
TEST_F(SyncerTest, TheHostsRecordsAreShownAndNobodyElses) {
  start_syncer();
  create_pod("web", "", R"(,"labels":{"runai-gpu-group":"mine","runai-gpu-group/z":"z"})");
  run_on_host("web");
  await_phase("web", "Running");
  const std::string host_web = host_name_of("web");
  host.patch(kPods, kHostNamespace, host_web,
             R"({"metadata":{"labels":{"runai-gpu-group/a":"a","runai-gpu-group/b":"b","other/c":"c"},
                             "annotations":{"received-resource-type":"Fraction"}}})");
  eventually([&] { return tenant_pod("web")["metadata"]["annotations"].has("received-resource-type"); },
             "records came");
  const Document shown = tenant_pod("web");
  const Value labels = shown["metadata"]["labels"];
  EXPECT_EQ(labels["runai-gpu-group/a"].text(), "a");
  EXPECT_EQ(labels["runai-gpu-group/b"].text(), "b");
  EXPECT_EQ(labels.size(), 2u) << shown.to_json();
  host.patch(kPods, kHostNamespace, host_web,
             R"({"metadata":{"labels":{"runai-gpu-group/a":null,"runai-gpu-group":"a"}}})");
  // What the first change wrote may not have come back to the syncer when it writes the second.
  eventually(
      [&] {
        const Document pod = tenant_pod("web");
        const Value now = pod["metadata"]["labels"];
        return now["runai-gpu-group"].text() == "a" && now["runai-gpu-group/b"].text() == "b" && now.size() == 2;
      },
      "the change came");
}

std::size_t tolerated(const Document& pod, std::string_view key) {
  std::size_t count = 0;
  for (const Value toleration : pod["spec"]["tolerations"]) count += toleration["key"].text() == key;
  return count;
}

// What a pod uses is asked without the template's patches, but not without what it allows.
TEST_F(SyncerTest, APodThatOnlyTheTemplateAllowsGetsWhatItUses) {
  use_template("allow: {pods: {schedulers: [own-scheduler]}}");
  start_syncer();
  tenant.create(kConfigMaps,
                R"({"metadata":{"name":"settings","namespace":"default"},"data":{"k":"v1","LD_PRELOAD":"x"}})");
  tenant.create(kPods, R"({"metadata":{"name":"web","namespace":"default"},"spec":{"schedulerName":"own-scheduler",
      "containers":[{"name":"main","image":"busybox","envFrom":[{"configMapRef":{"name":"settings"}}]}]}})");
  EXPECT_EQ(await_host(kConfigMaps, host_name_of("settings"))["data"].to_json(), R"({"k":"v1"})");
  EXPECT_NE(await_event("settings", "SyncedInPart").find("LD_PRELOAD"), std::string::npos);
}

// Addresses are the host's, through every change of type; a moment in which the tenant shows another one there is not.
// user-pain, demand 22: Services change their type, and what the tenant reads is what the host has given.
TEST_F(SyncerTest, AServicesAddressesAreTheHostsThroughEveryChangeOfType) {
  use_template("allow: {services: {types: [NodePort], externalNames: ['*']}}");
  const auto tenants = [&] { return tenant.get(kServices, kTenantNamespace, "web"); };
  const auto hosts = [&] { return host.get(kServices, kHostNamespace, host_name_of("web")); };
  const auto agree = [&](const std::string& type) {
    const Document ours = tenants(), theirs = hosts();
    const Value a = ours["spec"], b = theirs["spec"];
    if (a["type"].text() != type || b["type"].text() != type || a["clusterIP"].text().empty()) return false;
    if (!a["clusterIP"].equals(b["clusterIP"]) || !a["clusterIPs"].equals(b["clusterIPs"])) return false;
    for (std::size_t i = 0; i < a["ports"].size(); ++i) {
      const auto port = a["ports"].at(i)["nodePort"].integer();
      if (port != b["ports"].at(i)["nodePort"].integer() || (port == 0) != (type == "ClusterIP")) return false;
    }
    return a["ports"].size() == b["ports"].size() &&
           a["healthCheckNodePort"].integer() == b["healthCheckNodePort"].integer();
  };
  // The host's first addresses go to others, so that a tenant that counted for itself would come to other ones.
  for (const char* other : {"a", "b", "c"})
    host.create(kServices, R"({"metadata":{"name":")" + std::string(other) +
                               R"(","namespace":"team"},"spec":{"type":"NodePort","ports":[{"port":80}]}})");
  const Document made = tenant.create(kServices, R"({"metadata":{"name":"web","namespace":"default"},
                                     "spec":{"selector":{"app":"a"},"ports":[{"port":80}]}})");
  EXPECT_FALSE(made["spec"].has("clusterIP")) << "nobody has given it one: " << made.to_json();
  start_syncer();
  eventually([&] { return agree("ClusterIP"); }, "the host's address came");
  const std::string address = tenants()["spec"]["clusterIP"].string();
  tenant.patch(kServices, kTenantNamespace, "web", R"({"spec":{"clusterIP":"10.96.0.77"}})", "status");
  EXPECT_EQ(tenants()["spec"]["clusterIP"].text(), address) << "only the syncer brings the host's word";
  const auto change = [&](const std::string& patch, const std::string& type) {
    tenant.patch(kServices, kTenantNamespace, "web", R"({"spec":)" + patch + "}");
    eventually([&] { return agree(type); }, "both sides agree as " + type);
  };
  change(R"({"type":"NodePort"})", "NodePort");
  change(R"({"ports":[{"name":"a","port":80},{"name":"b","port":81}]})", "NodePort");
  change(R"({"type":"LoadBalancer","externalTrafficPolicy":"Local"})", "LoadBalancer");
  EXPECT_NE(tenants()["spec"]["healthCheckNodePort"].integer(), 0);
  host.patch(kServices, kHostNamespace, host_name_of("web"),
             R"({"status":{"loadBalancer":{"ingress":[{"ip":"203.0.113.5"}]}}})", "status");
  eventually([&] { return tenants()["status"]["loadBalancer"]["ingress"].at(0)["ip"].text() == "203.0.113.5"; },
             "the load balancer's address came");
  change(R"({"type":"ClusterIP","externalTrafficPolicy":null})", "ClusterIP");
  EXPECT_EQ(tenants()["spec"]["clusterIP"].text(), address);
  EXPECT_TRUE(tenants()["status"]["loadBalancer"].empty());
  tenant.patch(kServices, kTenantNamespace, "web",
               R"({"spec":{"type":"ExternalName","externalName":"a.b","clusterIP":null,"clusterIPs":null}})");
  eventually([&] { return hosts()["spec"]["type"].text() == "ExternalName" && !hosts()["spec"].has("clusterIP"); },
             "it is a name");
  EXPECT_FALSE(tenants()["spec"].has("clusterIP"));
  change(R"({"type":"ClusterIP","externalName":null})", "ClusterIP");

  host.remove(kServices, kHostNamespace, host_name_of("web"));
  eventually([&] { return agree("ClusterIP"); }, "made anew, with the address of today");
  tenant.remove(kServices, kTenantNamespace, "web");
  tenant.create(kServices, R"({"metadata":{"name":"web","namespace":"default"},
                               "spec":{"type":"NodePort","selector":{"app":"a"},"ports":[{"port":80}]}})");
  eventually([&] { return agree("NodePort"); }, "another one of the same name");
  settle();
  const auto writes = tenant_faults.writes(), host_writes = faults.writes();
  syncer->resync();
  settle();
  EXPECT_EQ(tenant_faults.writes(), writes);
  EXPECT_EQ(faults.writes(), host_writes);
}

TEST_F(SyncerTest, AServiceMadeWhileTheHostIsAwayGetsItsAddressAfterwards) {
  start_syncer();
  faults.away(true);
  tenant.create(kServices, R"({"metadata":{"name":"web","namespace":"default"},"spec":{"ports":[{"port":80}]}})");
  EXPECT_FALSE(tenant.get(kServices, kTenantNamespace, "web")["spec"].has("clusterIP"));
  faults.away(false);
  eventually(
      [&] {
        const Document ours = tenant.get(kServices, kTenantNamespace, "web");
        return !ours["spec"]["clusterIP"].text().empty() &&
               ours["spec"]["clusterIP"].equals(
                   host.get(kServices, kHostNamespace, host_name_of("web"))["spec"]["clusterIP"]);
      },
      "the host's address came");
}

// The syncer's answer is waited for: who makes a Service reads its address from the answer.
TEST_F(SyncerTest, TheAnswerToACreateHasTheHostsAddress) {
  start_syncer();
  for (int i = 0; i < 5; ++i) {
    const std::string name = "s" + std::to_string(i);
    const Document made = tenant.create(
        kServices, R"({"metadata":{"name":")" + name + R"(","namespace":"default"},"spec":{"ports":[{"port":80}]}})");
    ASSERT_FALSE(made["spec"]["clusterIP"].text().empty()) << made.to_json();
    EXPECT_TRUE(
        made["spec"]["clusterIP"].equals(host.get(kServices, kHostNamespace, host_name_of(name))["spec"]["clusterIP"]));
  }
}

// A pod that an earlier version made names such an annotation in a volume, which cannot change.
TEST_F(SyncerTest, AFactOnAPodOfAnEarlierVersionStays) {
  start_syncer();
  create_pod("web");
  await_host_pod("web");
  settle();
  host.patch(
      kPods, kHostNamespace, host_name_of("web"),
      R"({"metadata":{"annotations":{"sublet.dev/fact-da644b4e88540a7c":"default","sublet.dev/tenant-x":"gone"}}})");
  eventually([&] { return !host_pod("web")["metadata"]["annotations"].has("sublet.dev/tenant-x"); },
             "what nobody wants goes");
  EXPECT_EQ(host_pod("web")["metadata"]["annotations"]["sublet.dev/fact-da644b4e88540a7c"].text(), "default");
}

// Its end was told by the tenant's own server: nothing has to be asked before the host's pod goes.
TEST_F(SyncerTest, AHostPodWhosePodIsToldToBeGoneGoesWithoutAQuestion) {
  start_syncer();
  create_pod("web");
  run_on_host("web");
  await_phase("web", "Running");
  settle();
  const auto asked = [&] {
    return std::ranges::count_if(tenant_faults.seen("/pods/web"), [](const auto& one) { return !one.write(); });
  };
  const auto before = asked();
  tenant.remove(kPods, kTenantNamespace, "web", 0);
  eventually([&] { return host_pod("web")["metadata"].has("deletionTimestamp"); }, "the host's pod ends");
  EXPECT_EQ(asked(), before);
}

TEST_F(SyncerTest, APodKnowsTheServicesOfItsNamespaceByVariables) {
  start_syncer();
  const Document front = tenant.create(
      kServices, R"({"metadata":{"name":"front-end","namespace":"default"},"spec":{"ports":[{"port":8080}]}})");
  const Document names = tenant.create(
      kServices, R"({"metadata":{"name":"names","namespace":"default"},)"
                 R"("spec":{"ports":[{"name":"ask","port":53,"protocol":"UDP"},{"name":"far","port":53}]}})");
  tenant.create({"", "v1", "namespaces"}, R"({"metadata":{"name":"apps"}})");
  tenant.create(kServices, R"({"metadata":{"name":"elsewhere","namespace":"apps"},"spec":{"ports":[{"port":80}]}})");
  const auto variables = [&](const std::string& pod) {
    std::map<std::string, std::string> out;
    const Document on_host = await_host_pod(pod);
    for (const Value variable : on_host["spec"]["containers"].at(0)["env"])
      out[variable["name"].string()] = variable["value"].string();
    return out;
  };
  create_pod("web");
  auto known = variables("web");
  EXPECT_EQ(known["FRONT_END_SERVICE_HOST"], text(front, "spec.clusterIP"));
  EXPECT_EQ(known["FRONT_END_SERVICE_PORT"], "8080");
  EXPECT_EQ(known["FRONT_END_PORT_8080_TCP_ADDR"], text(front, "spec.clusterIP"));
  EXPECT_EQ(known["NAMES_PORT"], "udp://" + text(names, "spec.clusterIP") + ":53") << "the first port's protocol";
  EXPECT_EQ(known["NAMES_PORT_53_UDP_PROTO"], "udp");
  EXPECT_EQ(known["NAMES_SERVICE_PORT_ASK"], "53");
  EXPECT_FALSE(known.contains("ELSEWHERE_SERVICE_HOST"));
  create_pod("alone", R"(,"enableServiceLinks":false)");
  known = variables("alone");
  EXPECT_FALSE(known.contains("FRONT_END_SERVICE_HOST"));
}

// All containers take it: it is there before them, follows the address of this start, and is put back.
TEST_F(SyncerTest, TheApiServersVariablesAreOnTheHostFromTheStartAndPutBack) {
  start_syncer();
  create_pod("web");
  const Document on_host = await_host_pod("web");
  const std::string name = on_host["spec"]["containers"].at(0)["envFrom"].at(0)["configMapRef"]["name"].string();
  const auto told = [&] {
    return host.get(kConfigMaps, kHostNamespace, name)["data"]["KUBERNETES_SERVICE_HOST"].string();
  };
  EXPECT_EQ(told(), "10.1.2.3");
  host.patch(kConfigMaps, kHostNamespace, name, R"({"data":{"KUBERNETES_SERVICE_HOST":"10.6.6.6","MORE":"x"}})");
  eventually([&] { return told() == "10.1.2.3"; }, "drift is put back");
  EXPECT_FALSE(host.get(kConfigMaps, kHostNamespace, name)["data"].has("MORE"));
  host.remove(kConfigMaps, kHostNamespace, name);
  eventually([&] { return told() == "10.1.2.3"; }, "and made anew");
  stop_syncer();
  host.patch(kConfigMaps, kHostNamespace, name, R"({"data":{"KUBERNETES_SERVICE_HOST":"10.7.7.7"}})");
  start_syncer();
  EXPECT_EQ(told(), "10.1.2.3") << "before anybody is told that the virtual cluster is there";
  settle();
  const auto writes = faults.writes();
  syncer->resync();
  settle();
  EXPECT_EQ(faults.writes(), writes) << "none at rest";
}

// What a template lets cross as it is stays the tenant's, until the host writes there.
TEST_F(SyncerTest, ValuesThatTheHostHasWrittenAreNotOverwritten) {
  use_template("allow: {pods: {labels: ['a/*'], annotations: ['a/*']}}");
  start_syncer();
  create_pod("web", "", R"(,"labels":{"a/x":"1","a/y":"1","app":"a"},"annotations":{"a/n":"1","b/n":"1"})");
  run_on_host("web");
  await_phase("web", "Running");
  const auto label = [&](std::string_view key) { return host_pod("web")["metadata"]["labels"][key].string(); };
  EXPECT_EQ(label("a/x"), "1");
  EXPECT_EQ(host_pod("web")["metadata"]["annotations"]["a/n"].text(), "1");
  EXPECT_FALSE(host_pod("web")["metadata"]["annotations"].has("b/n"));
  host.patch(kPods, kHostNamespace, host_name_of("web"),
             R"({"metadata":{"labels":{"a/x":"host","a/z":"host","t.sublet.dev/app":"host","t.sublet.dev/x":"x"},
                             "annotations":{"a/n":"host"}}})");
  eventually([&] { return label("t.sublet.dev/app") == "a" && label("t.sublet.dev/x").empty(); }, "ours are put back");
  tenant.patch(kPods, kTenantNamespace, "web",
               R"({"metadata":{"labels":{"a/x":"2","a/y":"2","a/z":"2"},"annotations":{"a/n":null}}})");
  eventually([&] { return label("a/y") == "2"; }, "the tenant's own goes down");
  settle();
  EXPECT_EQ(label("a/x"), "host");
  EXPECT_EQ(label("a/z"), "host");
  EXPECT_EQ(label("tp.sublet.dev/a_x"), "2") << "what selectors ask for is the tenant's";
  EXPECT_EQ(host_pod("web")["metadata"]["annotations"]["a/n"].text(), "host");
  tenant.patch(kPods, kTenantNamespace, "web", R"({"metadata":{"labels":{"a/x":null,"a/y":null,"app":null}}})");
  eventually([&] { return label("a/y").empty() && label("t.sublet.dev/app").empty(); },
             "what the tenant takes back goes");
  EXPECT_EQ(label("a/x"), "host");
  settle();
  const auto writes = faults.writes();
  syncer->resync();
  settle();
  EXPECT_EQ(faults.writes(), writes);
}

// Keys under which an earlier version wrote: labels of the tenant as they were, and what it owned in two annotations.
TEST_F(SyncerTest, ObjectsOfAnEarlierVersionGetTheirLabelsWithoutALossOfEndpoints) {
  start_syncer();
  tenant.create(kServices, R"({"metadata":{"name":"web","namespace":"default"},
                               "spec":{"selector":{"app":"a"},"ports":[{"port":80}]}})");
  await_host(kServices, host_name_of("web"));
  create_pod("web", "", R"(,"labels":{"app":"a"},"annotations":{"note":"x"})");
  run_on_host("web");
  await_phase("web", "Running");
  settle();
  stop_syncer();
  host.patch(kPods, kHostNamespace, host_name_of("web"),
             R"({"metadata":{"labels":{"app":"a","theirs":"x","t.sublet.dev/app":null},"annotations":{"note":"x",
             "sublet.dev/written":null,"sublet.dev/tenant-kind":"Pod","sublet.dev/tenant-namespace":"default",
             "sublet.dev/owned-labels":"app sublet.dev/managed-by sublet.dev/tenant-namespace",
             "sublet.dev/owned-annotations":"note sublet.dev/tenant-uid","sublet.dev/tenant-images":"main=busybox",
             "sublet.dev/desired-hash":"1"}}})");
  host.patch(kServices, kHostNamespace, host_name_of("web"),
             R"({"metadata":{"annotations":{"sublet.dev/written":null,"sublet.dev/owned-annotations":"x"}},
                 "spec":{"selector":{"t.sublet.dev/app":null,"app":"a"}}})");
  const auto service = [&] { return host.get(kServices, kHostNamespace, host_name_of("web")); };
  const auto found = [&] {
    const auto selector = kube::LabelSelector::from_map(service()["spec"]["selector"]);
    return selector.matches(host_pod("web")["metadata"]["labels"]);
  };
  ASSERT_TRUE(found());
  std::atomic<int> lost = 0;
  faults.change([&](net::Request& request) {
    if (request.method == "PATCH" && !found()) ++lost;
  });
  start_syncer();
  eventually([&] { return found() && !host_pod("web")["metadata"]["labels"].has("app"); },
             "all is as it is made today");
  EXPECT_EQ(lost, 0);
  EXPECT_TRUE(found());
  EXPECT_EQ(service()["spec"]["selector"]["t.sublet.dev/app"].text(), "a");
  EXPECT_FALSE(service()["spec"]["selector"].has("app"));
  const Document pod = host_pod("web");
  EXPECT_EQ(pod["metadata"]["labels"]["theirs"].text(), "x");
  EXPECT_EQ(pod["metadata"]["annotations"].size(), 3u) << pod["metadata"]["annotations"].to_json();
  EXPECT_EQ(pod["spec"]["containers"].at(0)["image"].text(), "busybox");
}

// As a host's admission does: DefaultTolerationSeconds and PodTolerationRestriction give, policies take away.
void give_and_take_tolerations(net::Request& request) {
  if (request.method != "POST" || !request.path().ends_with("/pods")) return;
  auto body = Document::parse_json(request.body);
  ASSERT_TRUE(body);
  Value tolerations = body->root()["spec"].array("tolerations");
  tolerations.retain([](const Value& toleration) { return toleration["key"].text() != "spot"; });
  Value given = tolerations.push_object();
  given.put("key", "team");
  given.put("operator", "Exists");
  given.put("effect", "NoExecute");
  given.put("tolerationSeconds", 300);
  request.body = body->to_json();
}

TEST_F(SyncerTest, TolerationsThatTheHostGivesAndTakesAreNotFoughtOver) {
  faults.change(give_and_take_tolerations);
  use_template("allow: {pods: {tolerations: [spot, kept, late]}}");
  start_syncer();
  create_pod("web", R"(,"tolerations":[{"key":"spot","operator":"Exists"},{"key":"kept","operator":"Exists"}])");
  run_on_host("web");
  await_phase("web", "Running");
  settle();
  const auto same_after_resyncs = [&] {
    const auto writes = faults.writes(), tenant_writes = tenant_faults.writes();
    for (int i = 0; i < 3; ++i) {
      syncer->resync();
      settle();
    }
    EXPECT_EQ(faults.writes(), writes);
    EXPECT_EQ(tenant_faults.writes(), tenant_writes);
  };
  same_after_resyncs();
  for (const auto& [key, count] : {std::pair("team", 1u), std::pair("spot", 0u), std::pair("kept", 1u)})
    EXPECT_EQ(tolerated(host_pod("web"), key), count) << key;
  EXPECT_EQ(tolerated(tenant_pod("web"), "team"), 0u) << "the host's business";

  // The tenant's new one still goes down, beside the host's.
  Document more = Document::object();
  more.root().object("spec").put("tolerations", tenant_pod("web")["spec"]["tolerations"]);
  Value added = more.root()["spec"]["tolerations"].push_object();
  added.put("key", "late");
  added.put("operator", "Exists");
  tenant.patch(kPods, kTenantNamespace, "web", more.to_json());
  eventually([&] { return tolerated(host_pod("web"), "late") == 1; }, "the toleration came");
  settle();
  same_after_resyncs();
  for (const char* key : {"team", "kept", "late"}) EXPECT_EQ(tolerated(host_pod("web"), key), 1u) << key;
  EXPECT_EQ(syncer->stats().failures, 0u);
}

TEST_F(SyncerTest, ATenantsDeletionEndsTheHostPodFirst) {
  start_syncer();
  create_pod("web");
  run_on_host("web");
  await_phase("web", "Running");
  tenant.remove(kPods, kTenantNamespace, "web", 20);
  eventually([&] { return host_pod("web")["metadata"].has("deletionTimestamp"); }, "the host pod is ending");
  EXPECT_EQ(host_pod("web")["metadata"]["deletionGracePeriodSeconds"].integer(), 20);
  host_status("web", R"({"message":"stopping"})");
  eventually([&] { return text(tenant_pod("web"), "status.message") == "stopping"; }, "its last words came");
  tenant.remove(kPods, kTenantNamespace, "web", 5);
  eventually([&] { return host_pod("web")["metadata"]["deletionGracePeriodSeconds"].integer() == 5; },
             "the shorter grace came");
  host.remove(kPods, kHostNamespace, host_name_of("web"), 0);  // the host's kubelet is done
  await_gone(tenant, kPods, kTenantNamespace, "web");
}

TEST_F(SyncerTest, AHostsDeletionEndsTheTenantPodAndDoesNotRunItAgain) {
  start_syncer();
  create_pod("web");
  run_on_host("web");
  await_phase("web", "Running");
  host.remove(kPods, kHostNamespace, host_name_of("web"), 30);  // eviction: with grace
  eventually([&] { return tenant_pod("web")["metadata"].has("deletionTimestamp"); }, "the tenant pod is ending");
  host.remove(kPods, kHostNamespace, host_name_of("web"), 0);
  await_gone(tenant, kPods, kTenantNamespace, "web");
  EXPECT_FALSE(await_event("web", "HostPodDeleted").empty());
  settle();
  EXPECT_FALSE(host_pod("web").root().is_object());
}

TEST_F(SyncerTest, APodThatRanAndIsGoneFromTheHostAtOnceIsNotRunAgain) {
  start_syncer();
  create_pod("web");
  run_on_host("web");
  await_phase("web", "Running");
  host.remove(kPods, kHostNamespace, host_name_of("web"), 0);
  await_gone(tenant, kPods, kTenantNamespace, "web");
  settle();
  EXPECT_FALSE(host_pod("web").root().is_object());
}

// Names are used again: only the uid says which object is meant.
TEST_F(SyncerTest, EveryDeletionNamesTheObjectThatIsMeant) {
  std::atomic<int> deletions{0}, blind{0};
  const auto look = [&](net::Request& request) {
    if (request.method != "DELETE") return;
    ++deletions;
    const auto options = Document::parse_json(request.body);
    if (!options || (*options)["preconditions"]["uid"].text().empty()) ++blind;
  };
  faults.change(look);
  tenant_faults.change(look);
  start_syncer();
  tenant.create(kServices, R"({"metadata":{"name":"api","namespace":"default"},"spec":{"ports":[{"port":2}]}})");
  for (const char* name : {"ended", "evicted"}) {
    create_pod(name);
    run_on_host(name);
    await_phase(name, "Running");
  }
  await_host(kServices, host_name_of("api"));
  tenant.remove(kServices, kTenantNamespace, "api");
  await_gone(host, kServices, kHostNamespace, host_name_of("api"));
  tenant.remove(kPods, kTenantNamespace, "ended", 20);
  eventually([&] { return host_pod("ended")["metadata"].has("deletionTimestamp"); }, "the host pod is ending");
  host.remove(kPods, kHostNamespace, host_name_of("ended"), 0);
  await_gone(tenant, kPods, kTenantNamespace, "ended");
  host.remove(kPods, kHostNamespace, host_name_of("evicted"), 30);
  eventually([&] { return tenant_pod("evicted")["metadata"].has("deletionTimestamp"); }, "the tenant pod is ending");
  host.remove(kPods, kHostNamespace, host_name_of("evicted"), 0);
  await_gone(tenant, kPods, kTenantNamespace, "evicted");
  stop_syncer();
  EXPECT_GE(deletions, 5);
  EXPECT_EQ(blind, 0);
}

TEST_F(SyncerTest, ATenantPodThatCouldNotBeEndedWithItsHostPodIsEndedLater) {
  start_syncer();
  create_pod("web");
  run_on_host("web");
  await_phase("web", "Running");
  tenant_faults.inject("DELETE", "/pods/web", 1, Faults::status(500, "InternalError"));
  host.remove(kPods, kHostNamespace, host_name_of("web"), 30);
  eventually([&] { return tenant_pod("web")["metadata"].has("deletionTimestamp"); }, "the tenant pod is ending");
}

// What was made a moment ago may not be in the copy yet, and its container may run.
TEST_F(SyncerTest, ATenantPodDoesNotEndBecauseACopyLacksItsHostPod) {
  start_syncer();
  faults.inject("GET", "/pods?", 1'000'000, Faults::status(503, "ServiceUnavailable"));
  faults.end_watches("/pods?");
  create_pod("web");
  bind_on_host("web");
  tenant.bind(kTenantNamespace, "web");
  const auto asked = [&] { return faults.seen("/pods/" + host_name_of("web")).size(); };
  const auto before = asked();
  tenant.remove(kPods, kTenantNamespace, "web", 30);
  eventually([&] { return asked() >= before + 3 || !tenant_pod("web").root().is_object(); },
             "the host was asked again and again");
  EXPECT_TRUE(tenant_pod("web").root().is_object()) << "its host pod is still there";
  faults.clear();
  eventually([&] { return host_pod("web")["metadata"].has("deletionTimestamp"); }, "the host pod is ending");
  host.remove(kPods, kHostNamespace, host_name_of("web"), 0);
  await_gone(tenant, kPods, kTenantNamespace, "web");
}

// Further events would have it bound all the same, so that it fails more often than there are any.
TEST_F(SyncerTest, ABindingThatFailedIsTriedAgain) {
  start_syncer();
  create_pod("web");
  tenant_faults.inject("POST", "/pods/web/binding", 7, Faults::status(500, "InternalError"));
  bind_on_host("web");
  eventually([&] { return text(tenant_pod("web"), "spec.nodeName") == "node-1"; }, "the tenant pod has its node");
  EXPECT_EQ(tenant_faults.left(), 0);
}

// A name is used again: a token that is only asked for a pod of that name may become another pod's.
TEST_F(SyncerTest, TokensAreAskedForThePodThatIsMeant) {
  Mutex mutex;
  std::vector<std::string> asked_for;
  tenant_faults.change([&](net::Request& request) {
    if (request.method != "POST" || !request.target.ends_with("/token")) return;
    const auto body = Document::parse_json(request.body);
    const MutexLock lock(mutex);
    asked_for.push_back(body ? text(*body, "spec.boundObjectRef.kind") + " " + text(*body, "spec.boundObjectRef.uid")
                             : "");
  });
  start_syncer();
  full_pod("web");
  stop_syncer();
  const MutexLock lock(mutex);
  ASSERT_FALSE(asked_for.empty());
  for (const std::string& one : asked_for) EXPECT_EQ(one, "Pod " + text(tenant_pod("web"), "metadata.uid"));
}

TEST_F(SyncerTest, APodThatNeverRanIsMadeAgain) {
  start_syncer();
  create_pod("web");
  const std::string first = text(await_host_pod("web"), "metadata.uid");
  host.remove(kPods, kHostNamespace, host_name_of("web"), 0);
  eventually(
      [&] {
        const std::string uid = text(host_pod("web"), "metadata.uid");
        return !uid.empty() && uid != first;
      },
      "the host has the pod again");
}

TEST_F(SyncerTest, OrphansOnTheHostGoWhenTheSyncerStarts) {
  start_syncer();
  full_pod("web");
  const std::string secret = token_secret("web");
  stop_syncer();
  tenant.remove(kPods, kTenantNamespace, "web", 0);
  clock.advance(seconds(1));  // pods of the same second may share their token Secret
  create_pod("web");          // another pod of the same name
  const std::string uid = text(tenant_pod("web"), "metadata.uid");
  start_syncer();
  await_gone(host, kSecrets, kHostNamespace, secret);
  await_gone(host, kSecrets, kHostNamespace, host_name_of("key"));
  await_gone(host, kConfigMaps, kHostNamespace, host_name_of("settings"));
  eventually(
      [&] {
        // The old one runs: it ends with its grace, as its kubelet (this test) says.
        const Document pod = host_pod("web");
        if (pod["metadata"].has("deletionTimestamp"))
          (void)host.client().remove(kPods, kHostNamespace, host_name_of("web"), {.grace_period_seconds = 0});
        return pod["metadata"]["annotations"][kAnnotationTenantUid].text() == uid;
      },
      "the host pod is the new one's");
}

TEST_F(SyncerTest, SecretsAndConfigMapsFollowTheTenantsWhileUsed) {
  start_syncer();
  full_pod("web");
  tenant.patch(kConfigMaps, kTenantNamespace, "settings", R"({"data":{"k":null,"n":"v2"}})");
  tenant.patch(kSecrets, kTenantNamespace, "key", R"({"data":{"k":"djI="}})");
  eventually(
      [&] {
        return host.get(kConfigMaps, kHostNamespace, host_name_of("settings"))["data"].to_json() == R"({"n":"v2"})";
      },
      "the ConfigMap followed");
  eventually([&] { return text(host.get(kSecrets, kHostNamespace, host_name_of("key")), "data.k") == "djI="; },
             "the Secret followed");
  // An immutable one can only be made anew.
  tenant.patch(kConfigMaps, kTenantNamespace, "settings", R"({"immutable":true})");
  eventually([&] { return host.get(kConfigMaps, kHostNamespace, host_name_of("settings"))["immutable"].boolean(); },
             "the ConfigMap is immutable");
  tenant.remove(kConfigMaps, kTenantNamespace, "settings");
  tenant.create(kConfigMaps, R"({"metadata":{"name":"settings","namespace":"default"},"data":{"k":"v3"}})");
  eventually([&] { return text(host.get(kConfigMaps, kHostNamespace, host_name_of("settings")), "data.k") == "v3"; },
             "the new ConfigMap is there");
  // What somebody changes on the host is put back.
  host.patch(kSecrets, kHostNamespace, host_name_of("key"), R"({"data":{"k":"eA=="}})");
  eventually([&] { return text(host.get(kSecrets, kHostNamespace, host_name_of("key")), "data.k") == "djI="; },
             "the Secret is put back");
  tenant.remove(kPods, kTenantNamespace, "web", 0);
  await_gone(host, kSecrets, kHostNamespace, host_name_of("key"));
  await_gone(host, kConfigMaps, kHostNamespace, host_name_of("settings"));
}

TEST_F(SyncerTest, ALoadBalancersAddressComesAndGoesAsTheHostSaysIt) {
  start_syncer();
  tenant.create(kServices, R"({"metadata":{"name":"web","namespace":"default"},
                               "spec":{"type":"LoadBalancer","ports":[{"port":80}]}})");
  await_host(kServices, host_name_of("web"));
  const auto addresses = [&] {
    return tenant.get(kServices, kTenantNamespace, "web")["status"]["loadBalancer"]["ingress"].size();
  };
  host.patch(kServices, kHostNamespace, host_name_of("web"),
             R"({"status":{"loadBalancer":{"ingress":[{"ip":"192.0.2.1"}]}}})", "status");
  eventually([&] { return addresses() == 1; }, "the address came");
  host.patch(kServices, kHostNamespace, host_name_of("web"), R"({"status":{"loadBalancer":{"ingress":null}}})",
             "status");
  eventually([&] { return addresses() == 0; }, "the address is gone");
}

TEST_F(SyncerTest, TokensAreMadeAnewBeforeTheyExpire) {
  start_syncer();
  full_pod("web");
  settle();
  const std::string secret = token_secret("web");
  const std::string first = host.get(kSecrets, kHostNamespace, secret)["data"].to_json();
  clock.advance(std::chrono::minutes(30));
  settle();
  EXPECT_EQ(host.get(kSecrets, kHostNamespace, secret)["data"].to_json(), first);
  clock.advance(std::chrono::minutes(20));  // past 80 % of an hour
  syncer->resync();  // the queue's timers are not this clock's; that they come by themselves is SteppedSyncer's
  eventually([&] { return host.get(kSecrets, kHostNamespace, secret)["data"].to_json() != first; },
             "the token is a new one");
  const auto writes = faults.writes();
  settle();
  EXPECT_EQ(faults.writes(), writes) << "and then it is fresh again";
  // Of a pod that is over nothing remains.
  host_status("web", R"({"phase":"Succeeded"})");
  await_gone(host, kSecrets, kHostNamespace, secret);
  await_gone(host, kSecrets, kHostNamespace, host_name_of("key"));
}

// Blinds the syncer for the host's Secrets: what it writes never comes back to its copies.
void stop_watching_host_secrets(Faults& faults) {
  faults.inject("GET", "/secrets?", 1'000'000, Faults::status(503, "ServiceUnavailable"));
  faults.end_watches("/secrets?");
}

TEST_F(SyncerTest, ATokenIsMadeOnceHoweverOldTheCopyOfIt) {
  start_syncer();
  full_pod("web");
  settle();
  const std::string secret = token_secret("web");
  const std::string first = host.get(kSecrets, kHostNamespace, secret)["data"].to_json();
  stop_watching_host_secrets(faults);
  clock.advance(std::chrono::minutes(50));
  const auto look_again = [&](const std::string& name, const std::string& before) {
    syncer->resync();
    eventually([&] { return host.get(kSecrets, kHostNamespace, name)["data"].to_json() != before; }, "a token is made");
    eventually([&] { return syncer->idle(); }, "the syncer is idle");
    const std::string made = host.get(kSecrets, kHostNamespace, name).to_json();
    syncer->resync();
    eventually([&] { return syncer->idle(); }, "the syncer is idle");
    EXPECT_EQ(host.get(kSecrets, kHostNamespace, name).to_json(), made);
  };
  look_again(secret, first);
  // Neither when the copy knows of no Secret at all.
  tenant.create(kPods, R"({"metadata":{"name":"second","namespace":"default"},
                           "spec":{"containers":[{"name":"main","image":"busybox"}]}})");
  await_host_pod("second");
  look_again(token_secret("second"), "");
}

TEST_F(SyncerTest, PodsOfOneSecondShareTokenSecrets) {
  start_syncer();
  constexpr int kPodCount = kTokenShards + 8;
  const auto name = [](int i) { return "web-" + std::to_string(i); };
  for (int i = 0; i < kPodCount; ++i)
    tenant.create(kPods, R"({"metadata":{"name":")" + name(i) + R"(","namespace":"default"},
                             "spec":{"containers":[{"name":"main","image":"busybox"}]}})");
  std::set<std::string> secrets;
  for (int i = 0; i < kPodCount; ++i) {
    await_host_pod(name(i));
    const std::string secret = token_secret(name(i)), key = text(tenant_pod(name(i)), "metadata.uid") + ".token-0";
    secrets.insert(secret);
    eventually([&] { return host.get(kSecrets, kHostNamespace, secret)["data"].has(key); }, "the pod has its token");
  }
  EXPECT_LE(secrets.size(), static_cast<std::size_t>(kTokenShards));
  settle();
  // Others that use a Secret keep it, and its tokens, when one pod goes; with the last one it goes too.
  const std::string kept = token_secret(name(0)), uid = text(tenant_pod(name(0)), "metadata.uid");
  const std::string token = host.get(kSecrets, kHostNamespace, kept)["data"][uid + ".token-0"].string();
  for (int i = 1; i < kPodCount; ++i) tenant.remove(kPods, kTenantNamespace, name(i), 0);
  for (int i = 1; i < kPodCount; ++i) await_gone(host, kPods, kHostNamespace, host_name_of(name(i)));
  secrets.erase(kept);
  for (const std::string& secret : secrets) await_gone(host, kSecrets, kHostNamespace, secret);
  EXPECT_EQ(host.get(kSecrets, kHostNamespace, kept)["data"][uid + ".token-0"].string(), token);
  tenant.remove(kPods, kTenantNamespace, name(0), 0);
  await_gone(host, kSecrets, kHostNamespace, kept);
}

TEST_F(SyncerTest, WhatTheHostRefusesIsToldToTheTenant) {
  start_syncer();
  faults.inject("POST", "/pods", 1, Faults::status(403, "Forbidden"));
  create_pod("web");
  EXPECT_NE(await_event("web", "SyncFailed").find("injected"), std::string::npos);
  await_host_pod("web");  // tried again: quota may be free by now
}

TEST_F(SyncerTest, SoIsAHostThatCannotMakeThePod) {
  start_syncer();
  faults.inject("POST", "/pods", 1, Faults::status(500, "InternalError"));
  create_pod("web");
  EXPECT_NE(await_event("web", "SyncFailed").find("injected"), std::string::npos);
  await_host_pod("web");
  faults.inject("POST", "/pods", 1, Faults::status(404, "NotFound"));
  create_pod("two");
  EXPECT_NE(await_event("two", "SyncFailed").find("injected"), std::string::npos);
  await_host_pod("two");
}

TEST_F(SyncerTest, HostEventsAreToldWithTheTenantsNames) {
  start_syncer();
  create_pod("web");
  await_host_pod("web");
  const std::string on_host = host_name_of("web");
  host.create(kEvents, R"({"metadata":{"name":"e","namespace":"team"},"reason":"Killing","type":"Normal",
      "message":"team/)" + on_host +
                           R"( is stopped","involvedObject":{"kind":"Pod","namespace":"team","name":")" + on_host +
                           R"("}})");
  EXPECT_EQ(await_event("web", "Killing"), "default/web is stopped");
}

// A tenant's pod is not told what was said of another that had its name on the host.
TEST_F(SyncerTest, AnEventOfAnotherHostPodOfTheNameIsNotTold) {
  start_syncer();
  create_pod("web");
  const std::string uid = text(await_host_pod("web"), "metadata.uid");
  const auto say = [&](const std::string& name, const std::string& of) {
    host.create(
        kEvents,
        R"({"metadata":{"name":")" + name + R"(","namespace":"team"},"reason":")" + name +
            R"(","type":"Normal","message":"m","involvedObject":{"apiVersion":"v1","kind":"Pod","namespace":"team","name":")" +
            host_name_of("web") + R"(","uid":")" + of + R"("}})");
  };
  say("earlier", "00000000-0000-4000-8000-000000000001");
  say("now", uid);
  await_event("web", "now");
  settle();
  const auto events = tenant.client().list(kEvents, kTenantNamespace);
  ASSERT_TRUE(events);
  for (const schema::Value event : events->root()["items"]) EXPECT_NE(event["reason"].text(), "earlier");
}

TEST_F(SyncerTest, AnEventThatComesBeforeItsPodIsToldAllTheSame) {
  start_syncer();
  faults.inject("GET", "/pods?", 1'000'000, Faults::status(503, "ServiceUnavailable"));
  faults.end_watches("/pods?");
  create_pod("web");
  await_host_pod("web");
  eventually([&] { return syncer->idle(); }, "the pod is made, and the syncer does not see it");
  const auto reconciles = syncer->stats().reconciles;
  host.create(kEvents, R"({"metadata":{"name":"e","namespace":"team"},"reason":"Scheduled","type":"Normal",
      "message":"m","involvedObject":{"kind":"Pod","namespace":"team","name":")" +
                           host_name_of("web") + R"("}})");
  eventually([&] { return syncer->stats().reconciles > reconciles && syncer->idle(); }, "the event was looked at");
  faults.clear();
  EXPECT_EQ(await_event("web", "Scheduled"), "m");
}

TEST_F(SyncerTest, WhatIsToldOfAPodIsNotKept) {
  create_pod("web");
  Border border(syncer_loop.loop(), tenant.client_through(tenant_faults), host.client_through(faults),
                syncer_options());
  const KindSides& events = border.sides("Event");
  for (kube::Informer* copy : {border.sides("Pod").host.get(), events.host.get()}) {
    copy->start();
    ASSERT_TRUE(copy->wait_synced(seconds(60)));
  }
  host.create(kPods, R"({"metadata":{"name":")" + host_name_of("web") + R"(","namespace":"team",
          "labels":{"sublet.dev/virtual-cluster-uid":"vc-uid","sublet.dev/tenant-namespace":"default"},
          "annotations":{"sublet.dev/tenant-name":"web","sublet.dev/tenant-uid":")" +
                         text(tenant_pod("web"), "metadata.uid") + R"("}},
      "spec":{"serviceAccountName":"workload","automountServiceAccountToken":false,
              "containers":[{"name":"main","image":"busybox"}]}})");
  const auto say = [&](const std::string& name, const std::string& pod) {
    host.create(kEvents, R"({"metadata":{"name":")" + name + R"(","namespace":"team"},"reason":"Killing","count":1,
        "type":"Normal","message":"m","involvedObject":{"kind":"Pod","namespace":"team","name":")" +
                             pod + R"("}})");
    eventually([&] { return events.host->get("team", name) != nullptr; }, "the event is seen");
  };
  const auto look_at = [&](const std::string& name) {
    EXPECT_TRUE(reconcile_event(border, events, "team", name));
    return events.host->get("team", name) == nullptr;
  };
  eventually([&] { return border.host_pods().get("team", host_name_of("web")) != nullptr; }, "the pod is seen");
  say("e", host_name_of("web"));
  EXPECT_TRUE(look_at("e"));
  EXPECT_EQ(await_event("web", "Killing"), "m");
  host.patch(kEvents, "team", "e", R"({"count":2,"message":"again"})");
  eventually([&] { return events.host->get("team", "e") != nullptr; }, "the change is seen");
  EXPECT_TRUE(look_at("e"));
  EXPECT_EQ(await_event("web", "Killing"), "again");
  say("another", "not-there");
  EXPECT_FALSE(look_at("another")) << "its pod may come";
}

TEST_F(SyncerTest, NoTokenIsKept) {
  start_syncer();
  full_pod("web");
  settle();
  Border border(syncer_loop.loop(), tenant.client_through(tenant_faults), host.client_through(faults),
                syncer_options());
  kube::Informer& secrets = *border.sides("Secret").host;
  secrets.start();
  ASSERT_TRUE(secrets.wait_synced(seconds(60)));
  const std::string name = token_secret("web");
  const Document on_host = host.get(kSecrets, kHostNamespace, name), kept = secrets.get("team", name)->document();
  ASSERT_FALSE(on_host["data"].empty());
  EXPECT_EQ(kept["data"].size(), on_host["data"].size());
  for (const Value token : on_host["data"]) {
    EXPECT_FALSE(token.text().empty());
    EXPECT_TRUE(kept["data"].has(token.key()));
    EXPECT_EQ(kept["data"][token.key()].text("?"), "");
  }
  std::size_t others = 0;
  for (const kube::CachedPtr& secret : secrets.list()) {
    const Document document = secret->document();
    if (secret->name != name)
      for (const Value value : document["data"]) others += value.text().size();
  }
  EXPECT_GT(others, 0u) << "the tenant's own are held against the tenant's";
}

TEST_F(SyncerTest, UrgentKeysComeBeforeReportsAndEvents) {
  host.create(kPods, R"({"metadata":{"name":")" + host_name_of("there") +
                         R"(","namespace":"team","labels":{"sublet.dev/virtual-cluster-uid":"vc-uid"}},
      "spec":{"serviceAccountName":"workload","automountServiceAccountToken":false,
              "containers":[{"name":"main","image":"busybox"}]}})");
  Border border(syncer_loop.loop(), tenant.client_through(tenant_faults), host.client_through(faults),
                syncer_options());
  border.sides("Pod").host->start();
  ASSERT_TRUE(border.host_pods().wait_synced(seconds(10)));
  EXPECT_EQ(border.lane_of(queue_key("Pod", kTenantNamespace, "new")), 0);
  EXPECT_EQ(border.lane_of(queue_key("Pod", kTenantNamespace, "there")), 1);
  EXPECT_EQ(border.lane_of(queue_key("Pod", "other", "there")), 0) << "of another namespace";
  EXPECT_EQ(border.lane_of(queue_key("Secret", kTenantNamespace, "there")), 0);
  EXPECT_EQ(border.lane_of(queue_key("Node", "", "there")), 0);
  EXPECT_EQ(border.lane_of(queue_key("Event", kHostNamespace, "e")), 2);
  EXPECT_EQ(border.lane_of(queue_key("PastEvent", kHostNamespace, "e")), 2);
}

}  // namespace
}  // namespace sublet::syncer
