// Every configuration key that templates may set has an effect: for each row of the key table that says "honoured", a
// template with the key is held against one without, by all that follows from a template: which kinds cross and are
// shown, by which selectors, with which rights and policies on the host, and what crosses of objects that keys are
// about. A few keys act in a running process only; the tests that see that are named here, and must be there.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <sstream>

#include "cluster/host/host_manifest.h"
#include "cluster/lifecycle/first_objects.h"
#include "cluster/objects/api_access.h"
#include "cluster/objects/exported_access.h"
#include "cluster/objects/identity.h"
#include "cluster/objects/pod_access.h"
#include "cluster/objects/policies.h"
#include "cluster/objects/workload_account.h"
#include "patches/template/config_keys.h"
#include "sublet/base/files.h"
#include "sublet/cluster/plan.h"
#include "sublet/syncer/border_facts.h"
#include "sublet/syncer/host_footprint.h"
#include "sublet/syncer/tenant_rights.h"
#include "sublet/syncer/translate.h"
#include "syncer/border/synced_kinds.h"
#include "syncer/translate/translation.h"
#include "tests/support/source_path.h"

namespace sublet::cluster {
namespace {

using patches::HonouredForm;
using patches::HonouredKey;
using schema::Document;
using schema::Value;

/// A test that sees the key act: its file, and words of it.
struct Elsewhere {
  std::string_view key, file, words;
};
constexpr Elsewhere kElsewhere[] = {
    {"sync.fromHost.nodes.selector.all", "cluster/keys_test.cpp", "TEST(Keys, NodesAreAllShownOrThoseWithTheLabels)"},
    {"unauthenticated.connections", "subletd/api_host_test.cpp", "by unauthenticated.connections\""},
    {"unauthenticated.connectionsPerAddress", "subletd/api_host_test.cpp",
     "by unauthenticated.connectionsPerAddress\""},
    {"unauthenticated.kib", "subletd/api_host_test.cpp", "by unauthenticated.kib\""},
    {"controlPlane.distro.k8s.controllerManager.extraArgs", "subletd/controllers_role_test.cpp",
     "controllerManager.extraArgs"},
};

/// "a.b.c" and a value to {"a":{"b":{"c":value}}}, beside what is there.
void put(Value root, std::string_view path, std::string_view json) {
  for (std::size_t dot; (dot = path.find('.')) != path.npos; path.remove_prefix(dot + 1))
    root = root.object(path.substr(0, dot));
  const auto value = Document::parse_json(json);
  ASSERT_TRUE(value) << json;
  root.put(path, value->root());
}

// A value of the API for each place where a template may give one.
std::string api_sample(std::string_view place) {
  static const std::map<std::string_view, std::string> samples{
      {"Pod metadata.labels", R"({"a":"b"})"},
      {"Pod metadata.annotations", R"({"a":"b"})"},
      {"ResourceQuota spec.scopes", R"(["NotTerminating"])"},
      {"ResourceQuota spec.scopeSelector.matchExpressions", R"([{"scopeName":"NotTerminating","operator":"Exists"}])"},
      {"NetworkPolicy spec.egress", R"([{"ports":[{"port":5432}]}])"},
      {"NetworkPolicy spec.ingress", R"([{"ports":[{"port":5432}]}])"},
      {"Service spec", R"({"type":"LoadBalancer"})"},
      {"Ingress spec", R"({"tls":[{"hosts":["b.example"]}]})"},
      {"TLSRoute spec.parentRefs", R"([{"name":"edge"}])"},
      {"TLSRoute spec", R"({"hostnames":["c.example"]})"},
      {"ServiceAccount imagePullSecrets", R"([{"name":"registry"}])"},
  };
  const auto found = samples.find(place);
  EXPECT_NE(found, samples.end()) << place << " has no sample";
  return found == samples.end() ? "" : found->second;
}

std::vector<std::string> values_of(const HonouredKey& key) {
  switch (key.form) {
    case HonouredForm::boolean:
      return {"true", "false"};
    case HonouredForm::integer:
      return {"-1234567", "1234567"};
    case HonouredForm::strings:
      return {R"(["x.example/*"])", R"(["x.example/a"])"};
    case HonouredForm::labels:
      return {R"({"a":"b"})"};
    case HonouredForm::selector:
      return {R"([{"key":"a","operator":"In","values":["b"]}])"};
    case HonouredForm::count:
      return {"7"};
    case HonouredForm::quantities:
      return {R"({"cpu":"7"})", R"({"pods":"7"})"};
    case HonouredForm::custom:
      return {R"({"widgets.x.example":{"enabled":true}})",
              R"({"widgets.x.example":{"enabled":true,"scope":"Cluster"}})"};
    case HonouredForm::mappings:
      return {R"({"shared/a":"default/b"})"};
    case HonouredForm::api_value:
      return {api_sample(key.words)};
    case HonouredForm::network:
      return {R"("203.0.113.0/24")"};
    case HonouredForm::networks:
      return {R"(["203.0.113.0/24"])"};
    case HonouredForm::word:
      return {key.words == "url" ? R"("https://b.example")" : R"("b.example")"};
    case HonouredForm::hosts:
      return {R"(["b.example"])"};
    case HonouredForm::manifests:
      return {R"("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}")"};
    case HonouredForm::exports:
      return {R"([{"name":"a","namespace":"b"}])"};
    case HonouredForm::images:
      return {R"({"nginx":"mirror.example/nginx"})"};
    case HonouredForm::tolerations:
      return {R"(["gpu=yes:NoSchedule"])"};
    case HonouredForm::port:
      return {"30123"};
    case HonouredForm::choice:
      break;
  }
  std::vector<std::string> words;
  std::string word;
  for (const char c : std::string(key.words) + " ") {
    if (c != ' ') {
      word += c;
      continue;
    }
    words.push_back('"' + word + '"');
    word.clear();
  }
  return words;
}

VirtualCluster cluster_with_pod_access() {
  VirtualCluster cluster;
  cluster.name = "rag";
  cluster.uid = "vc-uid";
  cluster.host_namespace = "team";
  cluster.listen = "10.1.2.3:7443";
  cluster.host_service_account = "sublet-workload-rag";
  cluster.pod_access = {"192.168.1.5", "192.168.1.5", 20053, "10.96.3.4"};
  return cluster;
}

std::string crossed(const syncer::TranslateContext& context, std::string_view kind, const std::string& json) {
  const auto object = Document::parse_json(json);
  const auto translated = syncer::translate(context, kind, object->root(), syncer::Operation::create);
  if (translated) return translated->host_object.to_json() + "\n";
  return translated.error().causes.empty() ? "refused\n" : translated.error().causes.front().message + "\n";
}

/// All that follows from a template. "": it is refused.
std::string consequences(const Document& template_document) {
  const auto loaded = patches::Template::load(template_document.to_json(), "t.yaml", syncer::border_facts());
  if (!loaded) return "";
  VirtualCluster cluster = cluster_with_pod_access();
  syncer::TranslateContext context;
  context.virtual_cluster = cluster.name;
  context.virtual_cluster_uid = cluster.uid;
  context.host_namespace = cluster.host_namespace;
  context.dns_service_ip = "10.96.3.4";
  context.resolved_template = loaded->resolve({}, cluster.name, cluster.host_namespace).value();
  const patches::SyncConfig& config = context.resolved_template->config();
  context.host_service_account = cluster.host_service_account = workload_account_name(cluster.name, config);

  std::string out;
  for (const patches::CustomResource& custom : config.custom_resources) {
    out += custom.name + (custom.tells_source ? " from where " : " ");
    for (const auto& place : custom.left_out) out += place.back() + " is left out ";
    context.served_kinds[custom.name] = {"v1", "Kind", true};
  }
  for (const syncer::SyncedKind& kind : syncer::synced_kinds(context)) {
    out += std::string(kind.kind) + (syncer::is_wanted(kind, context) ? " crosses" : " stays");
    if (syncer::all_cross(context, kind.kind)) out += ", used or not";
    if (kind.shown) out += " by " + config.*kind.shown;
    if (kind.custom) out += " by " + kind.custom->selector;
    if (kind.mapping) out += " to " + kind.mapping->tenant_namespace;
    out += "\n";
  }
  for (const syncer::HostRight& right : syncer::host_rights(context)) {
    out += right.group + "/" + right.resource;
    for (const auto& verb : right.verbs) out += " " + verb;
    out += "\n";
  }
  out += syncer::tenant_rights(context) + "\n";
  for (const auto& one : policy_objects(cluster, config, "https://host.example:6443"))
    out += one.name + (one.object ? one.object->to_json() : " is not there") + "\n";
  out += workload_account(cluster, config).to_json() + "\n";
  for (const auto& one : identity_objects(cluster, context)) out += one.object.to_json() + "\n";
  for (const auto& one : api_access_objects(cluster, config)) out += one.object.to_json() + "\n";
  for (const std::string& name : patches::names_of(config.control_plane)) out += "known as " + name + "\n";
  kube::ClusterAccess admin;
  admin.ca_pem = "CA";
  for (const auto& wanted : exports_of(cluster, config)) {
    out += export_secret(cluster, config, wanted, admin, "TOKEN").to_json() + "\n";
    for (const Document& object : account_manifests(wanted.account)) out += object.to_json() + "\n";
  }
  for (const Document& object : first_objects(config)) out += object.to_json() + "\n";
  out += "controllers " + config.controllers + ", logs as " + config.log_encoding + "\n";
  out +=
      pod_access_service(cluster, config.cluster_dns, with_global(config, config.control_plane.dns_service)).to_json() +
      "\n";
  out += config.policies.pod_security_standard + "\n";
  for (const char* value : {"2000000000", "-2000000000"})
    out += crossed(
        context, "PriorityClass",
        R"({"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass","metadata":{"name":"a","uid":"u"},"value":)" +
            std::string(value) + "}");
  // A pod with all that keys are about.
  out += crossed(context, "Pod",
                 R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","namespace":"b","uid":"u"},)"
                 R"("spec":{"serviceAccountName":"default","containers":[{"name":"c","image":"nginx"}],"volumes":[)"
                 R"({"name":"a","configMap":{"name":"a"}}]}})");
  out += crossed(context, "Pod",
                 R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"b","namespace":"b","uid":"u"},)"
                 R"("spec":{"serviceAccountName":"default","containers":[{"name":"c","image":"busybox"}],"volumes":[)"
                 R"({"name":"a","secret":{"secretName":"a"}}]}})");
  out += crossed(context, "Pod",
                 R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"c","namespace":"b","uid":"u"},)"
                 R"("spec":{"serviceAccountName":"default","schedulerName":"x.example/a","containers":[{"name":"c",)"
                 R"("image":"nginx"}]}})");
  const auto node = Document::parse_json(R"({"metadata":{"name":"n","labels":{"x.example/a":"b"}}})");
  out += syncer::carry_back("Node", node->root(), Value(), context).to_json();
  return out;
}

/// The switches above and beside the key are on, so that it has something to say about.
Document ground_of(const HonouredKey& key, const std::vector<HonouredKey>& all) {
  Document ground = Document::object();
  std::string path(key.path);
  while (path.rfind('.') != path.npos) {
    path.resize(path.rfind('.'));
    const std::string enabled = path + ".enabled";
    if (enabled == "sync.toHost.gatewayApi.enabled") continue;  // that is all of those below it
    if (enabled != key.path && std::ranges::find(all, enabled, &HonouredKey::path) != all.end())
      put(ground.root(), enabled, "true");
  }
  // What two keys say together.
  for (const char* way : {"controlPlane.ingress", "controlPlane.tlsRoute"})
    if (key.path.starts_with(way)) put(ground.root(), std::string(way) + ".host", R"("a.example")");
  for (const char* mapped : {"sync.fromHost.configMaps", "sync.fromHost.secrets", "sync.fromHost.gateways"})
    if (key.path.starts_with(mapped) && !key.path.ends_with("byName"))
      put(ground.root(), std::string(mapped) + ".mappings.byName", R"({"shared/a":"default/b"})");
  if (key.path.starts_with("exportKubeConfig.serviceAccount."))
    put(ground.root(), "exportKubeConfig.serviceAccount.name", R"("a")");
  if (key.path.starts_with("integrations.")) {
    const std::string integration(key.path.substr(0, key.path.find('.', 13)));
    if (key.path != integration + ".enabled") put(ground.root(), integration + ".enabled", "true");
  }
  if (key.path == "sync.toHost.pods.hybridScheduling.enabled")
    put(ground.root(), "sync.toHost.pods.hybridScheduling.hostSchedulers", R"(["x.example/a"])");
  if (key.path == "sync.toHost.workloads.enabled") put(ground.root(), "sync.toHost.podGroups.enabled", "true");
  if (key.path == "sync.fromHost.nodes.selector.labels")
    put(ground.root(), "sync.fromHost.nodes.selector.all", "false");
  if (key.path == "controllers")  // others than ours do not count for the host's quota
    put(ground.root(), "policies.resourceQuota.enabled", "true");
  if (key.path.starts_with("sync.toHost.storageClasses."))
    put(ground.root(), "allow.storageClasses.provisioners", R"(["x.example/a"])");
  if (key.path.starts_with("sync.toHost.persistentVolumes."))
    put(ground.root(), "allow.persistentVolumes.nfsPaths", R"(["x.example:/a/*"])");
  if (key.path.starts_with("sync.toHost.priorityClasses.m"))
    put(ground.root(), "sync.toHost.priorityClasses.enabled", "true");
  return ground;
}

TEST(Keys, EachThatIsAcceptedHasAnEffect) {
  const auto keys = patches::honoured_keys();
  EXPECT_GT(keys.size(), 60u);
  int seen = 0;
  for (const HonouredKey& key : keys) {
    if (std::ranges::find(kElsewhere, key.path, &Elsewhere::key) != std::end(kElsewhere)) continue;
    const Document ground = ground_of(key, keys);
    const std::string without = consequences(ground);
    bool acts = false;
    std::string said;
    for (const std::string& value : values_of(key)) {
      Document with = ground.clone();
      put(with.root(), key.path, value);
      const std::string now = consequences(with);
      said += with.to_json() + (now.empty() ? ": refused; " : "; ");
      acts = acts || (!now.empty() && now != without);
    }
    EXPECT_TRUE(acts) << key.path << " changes nothing: " << said;
    seen += acts;
  }
  std::printf("%d of %zu keys are seen to act by what follows from a template, %zu by other tests\n", seen, keys.size(),
              std::size(kElsewhere));
}

/// With the switch on and with it off; "": refused.
std::pair<std::string, std::string> on_and_off(const Document& ground, std::string_view key) {
  Document on = ground.clone(), off = ground.clone();
  put(on.root(), key, "true");
  put(off.root(), key, "false");
  return {consequences(on), consequences(off)};
}

/// The lines of what follows that the switch decides about.
std::set<std::string> effect_of(const Document& ground, std::string_view key) {
  const auto [on, off] = on_and_off(ground, key);
  const auto lines_of = [](const std::string& text) {
    std::set<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.insert(line);
    return lines;
  };
  std::set<std::string> decided;
  std::ranges::set_symmetric_difference(lines_of(on), lines_of(off), std::inserter(decided, decided.end()));
  return decided;
}
bool share(const std::set<std::string>& a, const std::set<std::string>& b) {
  return std::ranges::any_of(a, [&](const std::string& line) { return b.contains(line); });
}

TEST(Keys, NodesAreAllShownOrThoseWithTheLabels) {
  const auto shown = [](const std::string& selector) {
    Document with = Document::object();
    put(with.root(), "sync.fromHost.nodes.selector", selector);
    const std::string now = consequences(with);
    if (now.empty()) return "refused";
    return now.find("Node crosses by a=b") != now.npos ? "by labels" : "all";
  };
  EXPECT_STREQ(shown(R"({"all":true})"), "all");
  EXPECT_STREQ(shown(R"({"labels":{"a":"b"}})"), "by labels");
  EXPECT_STREQ(shown(R"({"all":false,"labels":{"a":"b"}})"), "by labels");
  EXPECT_STREQ(shown(R"({"all":true,"labels":{"a":"b"}})"), "refused");
  EXPECT_STREQ(shown(R"({"all":false})"), "refused");
}

// A switch that is off below or beside one that is on: it acts, or it is refused, and never is it only accepted.
TEST(Keys, NoSwitchIsOverruledInSilence) {
  std::vector<HonouredKey> switches;
  for (const HonouredKey& key : patches::honoured_keys())
    if (key.form == HonouredForm::boolean &&
        std::ranges::find(kElsewhere, key.path, &Elsewhere::key) == std::end(kElsewhere))
      switches.push_back(key);
  EXPECT_GT(switches.size(), 30u);
  std::map<std::string_view, std::set<std::string>> effects;
  for (const HonouredKey& key : switches) effects[key.path] = effect_of(ground_of(key, switches), key.path);
  int seen = 0;
  const auto see = [&](const Document& ground, std::string_view key) {
    const auto [on, off] = on_and_off(ground, key);
    EXPECT_TRUE(on != off || on.empty()) << key << " false is accepted and does nothing in " << ground.to_json();
    ++seen;
  };
  for (const HonouredKey& key : switches) {
    // All switches above it on, also those that ask for several kinds together.
    Document ground = ground_of(key, switches);
    std::string path(key.path);
    while (path.rfind('.') != path.npos) {
      path.resize(path.rfind('.'));
      if (const std::string enabled = path + ".enabled";
          enabled != key.path && std::ranges::find(switches, enabled, &HonouredKey::path) != switches.end())
        put(ground.root(), enabled, "true");
    }
    see(ground, key.path);
    // And each of the others that has something to do with the same.
    for (const HonouredKey& other : switches) {
      if (other.path == key.path || !share(effects.at(key.path), effects.at(other.path))) continue;
      Document beside = ground_of(key, switches);
      put(beside.root(), other.path, "true");
      see(beside, key.path);
    }
  }
  EXPECT_GT(seen, static_cast<int>(switches.size())) << "no two switches have to do with the same";
  std::printf("%d grounds for %zu switches\n", seen, switches.size());
}

// The same resource behind a key of its own, and by its definition's name.
TEST(Keys, AResourceSwitchedOffByNameIsNotAskedForByAnotherKey) {
  for (const auto& [key, name] : std::initializer_list<std::pair<const char*, const char*>>{
           {"sync.toHost.gatewayApi.httpRoutes.enabled", "httproutes.gateway.networking.k8s.io"},
           {"sync.toHost.gatewayApi.enabled", "gateways.gateway.networking.k8s.io"},
           {"sync.toHost.volumeSnapshots.enabled", "volumesnapshots.snapshot.storage.k8s.io"}}) {
    Document both = Document::object();
    put(both.root(), key, "true");
    put(both.root(), "sync.toHost.customResources", std::string("{\"") + name + R"(":{"enabled":false}})");
    EXPECT_EQ(consequences(both), "") << both.to_json();
  }
}

TEST(Keys, TheOthersHaveATestThatIsThere) {
  const auto keys = patches::honoured_keys();
  for (const Elsewhere& one : kElsewhere) {
    EXPECT_NE(std::ranges::find(keys, one.key, &HonouredKey::path), keys.end()) << one.key << " is no key any more";
    const auto text = read_file(source_path(one.file));
    ASSERT_TRUE(text) << one.file;
    EXPECT_NE(text->find(one.words), std::string::npos) << one.file << " does not have: " << one.words;
  }
}

}  // namespace
}  // namespace sublet::cluster
