#include "cluster/host/owner.h"

#include <pwd.h>
#include <unistd.h>

namespace sublet::cluster {
namespace {

using schema::Document;
using schema::Value;

const kube::Resource kConfigMaps{"", "v1", "configmaps"};
constexpr int kRecordTries = 5;  // when a record is deleted between two requests

// Returns "anna@workstation", for the user who finds the name taken.
std::string maker() {
  char machine[256] = {};
  if (::gethostname(machine, sizeof(machine) - 1) != 0) machine[0] = '\0';
  const passwd* entry = ::getpwuid(::getuid());
  return std::string(entry && entry->pw_name ? entry->pw_name : std::to_string(::getuid())) + "@" + machine;
}

Document record_of(const VirtualCluster& cluster, const std::string& place) {
  Document document = Document::object();
  Value root = document.root();
  root.put("apiVersion", "v1");
  root.put("kind", "ConfigMap");
  Value metadata = root.object("metadata");
  metadata.put("name", owner_record_name(cluster.name));
  metadata.object("labels").put("sublet.dev/owner-of", cluster.name);
  Value data = root.object("data");
  data.put("uid", cluster.uid);
  data.put("created", cluster.created);
  data.put("madeBy", maker());
  data.put("folder", place);
  return document;
}

Status taken_by(const Host& host, const VirtualCluster& cluster, const Value& data) {
  const std::string context = host.embedded ? std::string() : " --context " + host.context;
  const std::string kubectl = "kubectl" + context + " -n " + cluster.host_namespace + " delete ";
  return fail(Reason::already_exists,
              "virtual cluster " + cluster.name + " in namespace " + cluster.host_namespace + " is another's: made " +
                  data["created"].string() + " by " + data["madeBy"].string() + " in " + data["folder"].string() +
                  "; take another name or namespace, or delete that one where it was made. If its state is lost, take "
                  "the name over: " +
                  kubectl + "pods,services,configmaps,secrets,serviceaccounts -l " +
                  std::string(syncer::kLabelTenantUid) + "=" + data["uid"].string() + ", then " + kubectl +
                  "configmap " + owner_record_name(cluster.name))
      .value();
}

}  // namespace

std::string owner_record_name(const std::string& virtual_cluster) { return "sublet-owner-" + virtual_cluster; }

Outcome take_name(const Host& host, const VirtualCluster& cluster, const std::string& place) {
  const Document wanted = record_of(cluster, place);
  for (int i = 0; i < kRecordTries; ++i) {
    const auto made = host.client.create(kConfigMaps, cluster.host_namespace, wanted.root());
    if (made) return {};
    if (!made.error().is(Reason::already_exists)) return fail(made.error());
    const auto there = host.client.get(kConfigMaps, cluster.host_namespace, owner_record_name(cluster.name));
    if (!there && there.error().is(Reason::not_found)) continue;
    if (!there) return fail(there.error());
    const Value data = there->root()["data"];
    if (data["uid"].text() == cluster.uid) return {};
    return fail(taken_by(host, cluster, data));
  }
  return fail(Reason::conflict, "ConfigMap " + owner_record_name(cluster.name) + " comes and goes; try again");
}

Outcome release_name(const Host& host, const VirtualCluster& cluster) {
  const auto there = host.client.get(kConfigMaps, cluster.host_namespace, owner_record_name(cluster.name));
  if (!there) return there.error().is(Reason::not_found) ? Outcome() : fail(there.error());
  if (there->root()["data"]["uid"].text() != cluster.uid) return {};
  kube::DeleteOptions options;
  options.uid = there->root()["metadata"]["uid"].string();
  const auto removed =
      host.client.remove(kConfigMaps, cluster.host_namespace, owner_record_name(cluster.name), options);
  if (removed || removed.error().is(Reason::not_found) || removed.error().is(Reason::conflict)) return {};
  return fail(removed.error());
}

}  // namespace sublet::cluster
