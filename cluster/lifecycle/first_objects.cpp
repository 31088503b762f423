#include "cluster/lifecycle/first_objects.h"

#include "cluster/host/wait_until.h"
#include "sublet/kube/kubeconfig.h"
#include "sublet/net/loop.h"
#include "sublet/schema/engine.h"

namespace sublet::cluster {
namespace {

using schema::Document;
using schema::Value;

struct Place {
  kube::Resource resource;
  bool namespaced = false;
};

// Asks the API server, because one of the objects may define the kind.
Result<Place> place_of(const kube::Client& tenant, std::string_view api_version, std::string_view kind) {
  const std::size_t slash = api_version.find('/');
  const std::string group(slash == api_version.npos ? "" : api_version.substr(0, slash));
  const std::string version(slash == api_version.npos ? api_version : api_version.substr(slash + 1));
  const auto answer = tenant.raw("GET", (group.empty() ? "/api/" : "/apis/" + group + "/") + version);
  if (!answer) return fail(answer.error());
  const auto listed = Document::parse_json(answer->code == 200 ? answer->body : "{}");
  if (listed)
    for (const Value one : listed->root()["resources"])
      if (one["kind"].text() == kind && one["name"].text().find('/') == std::string_view::npos)
        return Place{{group, version, one["name"].string()}, one["namespaced"].boolean()};
  return fail(Reason::not_found,
              "the virtual cluster serves no kind " + std::string(kind) + " of " + std::string(api_version));
}

Outcome apply_one(const kube::Client& tenant, const Value& object) {
  const auto place = place_of(tenant, object["apiVersion"].text(), object["kind"].text());
  if (!place) return fail(place.error());
  const std::string space = place->namespaced ? object["metadata"]["namespace"].string("default") : "";
  const auto applied = tenant.apply(place->resource, space, object["metadata"]["name"].string(), object,
                                    {.field_manager = "sublet-template", .force = true});
  return applied ? Outcome() : fail(applied.error());
}

}  // namespace

std::vector<Document> first_objects(const patches::SyncConfig& config) {
  auto read = schema::parse_yaml_stream(config.first_objects);
  return read ? std::move(*read) : std::vector<Document>();  // load() has read it
}

Outcome apply_first_objects(const VirtualCluster& cluster, const kube::ClusterAccess& admin,
                            std::chrono::steady_clock::time_point deadline) {
  const auto context = translate_context(cluster);
  if (!context) return fail(context.error());
  const std::vector<Document> objects = first_objects(syncer::config_of(*context));
  if (objects.empty()) return {};
  net::LoopThread loop("first-objects");
  auto transport = kube::connect(loop.loop(), admin);
  if (!transport) return fail(transport.error());
  const kube::Client tenant(*transport, {.user_agent = "sublet"});
  for (const Document& object : objects) {
    const Value root = object.root();
    Outcome applied;
    // A definition's kind and a namespace's account appear a moment after the object that makes them.
    (void)wait_until(deadline, [&] {
      applied = apply_one(tenant, root);
      return applied || !applied.error().is(Reason::not_found);
    });
    if (applied) continue;
    Status status = applied.error();
    status.message = "experimental.deploy.vcluster.manifests, " + root["kind"].string() + " " +
                     root["metadata"]["name"].string() + ": " + status.message;
    return fail(std::move(status));
  }
  return {};
}

}  // namespace sublet::cluster
