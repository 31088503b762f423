#include "tests/simulation/world.h"

#include "sublet/syncer/translate.h"

namespace sublet::simulation {
namespace {

using schema::Document;
using schema::Value;

Document parsed(const std::string& json) { return Document::parse_json(json).value_or(Document::object()); }

std::size_t spread(std::string_view text) {
  std::size_t sum = 7;
  for (const char c : text) sum = sum * 31 + static_cast<unsigned char>(c);
  return sum;
}

}  // namespace

kube::Resource resource_of(const std::string& kind) { return {"", "v1", kind}; }

bool is_ours(const Value& host_object) {
  return host_object["metadata"]["labels"][syncer::kLabelTenantUid].text() == kVirtualClusterUid;
}

bool has_ended(const Value& pod) {
  const std::string_view phase = pod["status"]["phase"].text();
  return phase == "Succeeded" || phase == "Failed";
}

std::string host_name_of(const Actor& actor) {
  return syncer::host_name(actor.name, actor.namespace_name, kVirtualCluster);
}

World::World(Side& tenant, Side& host, const Script& script, Dice& dice, Tally& tally, Trace& trace)
    : tenant_(tenant), host_(host), script_(script), dice_(dice), tally_(tally), trace_(trace) {}

void World::prepare() {
  const auto make = [](Side& side, const std::string& kind, const std::string& space, const std::string& json) {
    const auto made = side.client().create(resource_of(kind), space, parsed(json).root());
    if (!made && !made.error().is(Reason::already_exists)) std::abort();
  };
  make(host_, "namespaces", "", R"({"metadata":{"name":"team"}})");
  make(host_, "serviceaccounts", "team", R"({"metadata":{"name":"workload"}})");
  for (const char* node : {"node-1", "node-2"})
    make(host_, "nodes", "", std::string(R"({"metadata":{"name":")") + node + "\"}}");
  make(tenant_, "namespaces", "", R"({"metadata":{"name":"apps"}})");
  for (const char* space : {"default", "apps"}) {
    make(tenant_, "serviceaccounts", space, R"({"metadata":{"name":"default"}})");
    make(tenant_, "configmaps", space, R"({"metadata":{"name":"kube-root-ca.crt"},"data":{"ca.crt":"none"}})");
  }
}

// The user ------------------------------------------------------------------------------------------------------------

void World::create(const Actor& actor, int version) {
  const auto made =
      tenant_.client().create(resource_of(actor.kind), actor.namespace_name, parsed(manifest(actor, version)).root());
  trace_.add("user: create " + actor.kind + " " + actor.namespace_name + "/" + actor.name + " v" +
             std::to_string(version) + (made ? "" : ": " + made.error().message));
  if (!made) return;
  const Document before = host_.get(actor.kind, kHostNamespace, host_name_of(actor));
  if (before.root().is_object() && is_ours(before.root())) tally_.add(Fault::recreated);
}

void World::put(const Actor& actor, int version) {
  const kube::Resource resource = resource_of(actor.kind);
  if (!tenant_.get(actor.kind, actor.namespace_name, actor.name).root().is_object()) return create(actor, version);
  trace_.add("user: change " + actor.kind + " " + actor.namespace_name + "/" + actor.name + " v" +
             std::to_string(version));
  const std::string number = std::to_string(version);
  const std::string labels = R"({"metadata":{"labels":{"version":"v)" + number + "\"}}";
  if (actor.kind == "pods")
    (void)tenant_.client().patch(
        resource, actor.namespace_name, actor.name, kube::PatchType::strategic_merge,
        labels + R"(,"spec":{"containers":[{"name":"main","image":"image:)" + number + "\"}]}}");
  else if (actor.kind == "persistentvolumeclaims")
    (void)tenant_.client().patch(resource, actor.namespace_name, actor.name, kube::PatchType::merge, labels + "}");
  else if (actor.kind == "services")
    (void)tenant_.client().patch(resource, actor.namespace_name, actor.name, kube::PatchType::merge,
                                 labels + R"(,"spec":{"ports":[{"port":)" + std::to_string(8000 + version) + "}]}}");
  else
    (void)tenant_.client().update(resource, actor.namespace_name, actor.name, parsed(manifest(actor, version)).root());
}

bool World::remove(const Actor& actor, bool now) {
  kube::DeleteOptions options;
  if (now) options.grace_period_seconds = 0;
  const auto removed = tenant_.client().remove(resource_of(actor.kind), actor.namespace_name, actor.name, options);
  trace_.add("user: delete " + actor.kind + " " + actor.namespace_name + "/" + actor.name + (now ? " now" : "") +
             (removed ? "" : ": " + removed.error().message));
  return bool(removed);
}

bool World::user_acts() {
  if (next_act_ == script_.acts.size()) return false;
  const Act& act = script_.acts[next_act_++];
  const Actor& actor = script_.actors[act.actor];
  switch (act.what) {
    case Act::What::put:
      put(actor, act.version);
      break;
    case Act::What::remove:
      remove(actor, false);
      break;
    case Act::What::remove_now:
      remove(actor, true);
      break;
    case Act::What::make_anew:
      remove(actor, true);
      create(actor, act.version);
      break;
  }
  return true;
}

// One that goes or has lost its volume: who uses it has to go first, or not to come.
bool World::waits_for_claim(const Actor& actor) const {
  if (actor.claim.empty()) return false;
  const Document claim = tenant_.get("persistentvolumeclaims", actor.namespace_name, actor.claim);
  return !claim.root().is_object() || claim["metadata"].has("deletionTimestamp") ||
         claim["status"]["phase"].text() == "Lost";
}

bool World::insist(const Actor& actor, int version) {
  const Document now = tenant_.get(actor.kind, actor.namespace_name, actor.name);
  if (waits_for_claim(actor) && !has_ended(now.root()))
    return now.root().is_object() && !now["metadata"].has("deletionTimestamp") && remove(actor, false);
  if (!now.root().is_object()) {
    if (version == 0) return false;
    create(actor, version);
    return true;
  }
  if (now["metadata"].has("deletionTimestamp")) return false;  // it is on its way
  const std::string_view phase = now["status"]["phase"].text();
  const bool failed = phase == "Lost" || (has_ended(now.root()) && (!actor.ends || phase == "Failed"));
  if (version == 0 || failed) return remove(actor, false);
  if (now["metadata"]["labels"]["version"].text() == "v" + std::to_string(version)) return false;
  put(actor, version);
  return true;
}

bool World::user_insists() {
  if (claims_work(true)) return true;
  if (insisted_at_ == tenant_.revision()) return false;
  for (std::size_t i = 0; i < script_.actors.size(); ++i)
    if (insist(script_.actors[i], script_.in_the_end[i])) return true;
  insisted_at_ = tenant_.revision();
  return false;
}

// The host ------------------------------------------------------------------------------------------------------------

std::vector<Document> World::ours(std::string_view prefix) const {
  std::vector<Document> all;
  host_.each(prefix, [&](const store::Object&, const Document& object) {
    if (is_ours(object.root())) all.push_back(Document::copy_of(object.root()));
  });
  return all;
}

void World::report(const Document& host_pod, const std::string& phase, std::int64_t restarts) {
  const std::string name = host_pod["metadata"]["name"].string();
  const std::string ready = phase == "Running" ? "true" : "false";
  const std::string state = phase == "Running" ? R"({"running":{"startedAt":"2027-01-15T08:00:00Z"}})"
                                               : R"({"terminated":{"exitCode":0,"reason":"Completed"}})";
  const std::string status = R"({"status":{"phase":")" + phase +
                             R"(","startTime":"2027-01-15T08:00:00Z","podIP":"10.0.0.)" +
                             std::to_string(1 + spread(name) % 250) +
                             R"(","containerStatuses":[{"name":"main","image":"i","imageID":"i","restartCount":)" +
                             std::to_string(restarts) + R"(,"ready":)" + ready + R"(,"state":)" + state + "}]}}";
  const auto done =
      host_.client().patch(resource_of("pods"), kHostNamespace, name, kube::PatchType::merge, status, "status");
  trace_.add("kubelet: " + name + " " + phase + (done ? "" : ": " + done.error().message));
}

void World::say_event(const Document& host_pod, const std::string& reason) {
  if (!script_.claims_and_events) return;
  const kube::Resource events = resource_of("events");
  if (!last_event_.empty() && dice_.one_in(4)) {  // it happened again
    const Document last = host_.get("events", kHostNamespace, last_event_);
    (void)host_.client().patch(events, kHostNamespace, last_event_, kube::PatchType::merge,
                               R"({"count":)" + std::to_string(last["count"].integer(1) + 1) + "}");
    return;
  }
  const std::string pod = host_pod["metadata"]["name"].string();
  last_event_ = "e" + std::to_string(++events_);
  (void)host_.client().create(
      events, kHostNamespace,
      parsed(R"({"metadata":{"name":")" + last_event_ + R"("},"type":"Normal","count":1,"reason":")" + reason +
             R"(","message":")" + last_event_ + " of " + pod +
             R"(","involvedObject":{"kind":"Pod","apiVersion":"v1","namespace":"team","name":")" + pod +
             R"(","uid":")" + host_pod["metadata"]["uid"].string() + "\"}}")
          .root());
}

// Claims: the host's volume controller, and on both sides the one that keeps a claim while a pod uses it.

bool World::bind_claim(const Document& claim) {
  if (claim["metadata"].has("deletionTimestamp") || claim["status"]["phase"].text() == "Bound") return false;
  const std::string name = claim["metadata"]["name"].string();
  const kube::Resource claims = resource_of("persistentvolumeclaims");
  if (claim["spec"]["volumeName"].text().empty())
    (void)host_.client().patch(claims, kHostNamespace, name, kube::PatchType::merge,
                               R"({"metadata":{"annotations":{"pv.kubernetes.io/bind-completed":"yes"}},)"
                               R"("spec":{"volumeName":"pv-)" +
                                   claim["metadata"]["uid"].string() + "\"}}");
  else
    (void)host_.client().patch(
        claims, kHostNamespace, name, kube::PatchType::merge,
        R"({"status":{"phase":"Bound","accessModes":["ReadWriteOnce"],"capacity":{"storage":"2Gi"}}})", "status");
  trace_.add("host: binds " + name);
  return true;
}

bool World::let_claim_go(Side& side, const Document& claim) {
  const Value metadata = claim["metadata"];
  if (!metadata.has("deletionTimestamp") || metadata["finalizers"].empty()) return false;
  bool used = false;  // by one that has a node, be it known in the tenant or not
  side.each("pods/" + metadata["namespace"].string() + "/", [&](const store::Object&, const Document& pod) {
    const bool has_node = !pod["spec"]["nodeName"].text().empty() ||
                          (&side == &tenant_ && !host_pod_of(pod)["spec"]["nodeName"].text().empty());
    for (const Value volume : pod["spec"]["volumes"])
      used = used || (!has_ended(pod.root()) && has_node &&
                      volume["persistentVolumeClaim"]["claimName"].equals(metadata["name"]));
  });
  if (used) return false;
  trace_.add(side.name() + ": claim " + metadata["name"].string() + " is used no more");
  return bool(side.client().patch(resource_of("persistentvolumeclaims"), metadata["namespace"].text(),
                                  metadata["name"].text(), kube::PatchType::merge,
                                  R"({"metadata":{"finalizers":null}})"));
}

bool World::claims_work(bool calm) {
  if (!script_.claims_and_events) return false;
  const std::pair at(tenant_.revision(), host_.revision());
  if (calm && claims_done_at_ == at) return false;
  std::vector<std::pair<Side*, Document>> all;
  for (Side* side : {&tenant_, &host_})
    side->each("persistentvolumeclaims/", [&](const store::Object&, const Document& claim) {
      if (side == &tenant_ || is_ours(claim.root())) all.emplace_back(side, Document::copy_of(claim.root()));
    });
  const auto next = [&](const std::pair<Side*, Document>& one) {
    return let_claim_go(*one.first, one.second) || (one.first == &host_ && bind_claim(one.second));
  };
  if (!calm) return !all.empty() && next(all[dice_.below(all.size())]);
  for (const auto& one : all)
    if (next(one)) return true;
  claims_done_at_ = at;
  return false;
}

Document World::host_pod_of(const Document& tenant_pod) const {
  const Value metadata = tenant_pod["metadata"];
  return host_.get("pods", kHostNamespace,
                   syncer::host_name(metadata["name"].text(), metadata["namespace"].text(), kVirtualCluster));
}

// Else no scheduler takes the pod.
bool World::has_its_claims(const Document& host_pod) const {
  for (const Value volume : host_pod["spec"]["volumes"]) {
    if (!volume.has("persistentVolumeClaim")) continue;
    const Document claim =
        host_.get("persistentvolumeclaims", kHostNamespace, volume["persistentVolumeClaim"]["claimName"].text());
    if (!claim.root().is_object() || claim["metadata"].has("deletionTimestamp")) return false;
    const Value marks = claim["metadata"];
    const Document theirs = tenant_.get("persistentvolumeclaims", marks["labels"][syncer::kLabelTenantNamespace].text(),
                                        marks["annotations"][syncer::kAnnotationTenantName].text());
    if (is_ours(claim.root()) && !theirs["metadata"]["uid"].equals(marks["annotations"][syncer::kAnnotationTenantUid]))
      return false;
  }
  return true;
}

bool World::next_of_pod(const Document& host_pod, bool calm) {
  const Value metadata = host_pod["metadata"];
  const std::string name = metadata["name"].string();
  const kube::Resource pods = resource_of("pods");
  const std::string node = "node-" + std::to_string(1 + spread(name) % 2);
  if (metadata.has("deletionTimestamp")) {
    trace_.add("kubelet: " + name + " is gone");
    (void)host_.client().remove(pods, kHostNamespace, name,
                                {.grace_period_seconds = 0, .uid = metadata["uid"].string()});
    return true;
  }
  if (has_ended(host_pod.root())) return false;
  if (host_pod["spec"]["nodeName"].text().empty()) {
    if (!has_its_claims(host_pod)) return false;
    const auto bound = host_.client().create(
        pods, kHostNamespace,
        parsed(R"({"metadata":{"name":")" + name + R"("},"target":{"kind":"Node","name":")" + node + "\"}}").root(),
        name, "binding");
    trace_.add("scheduler: " + name + " to " + node + (bound ? "" : ": " + bound.error().message));
    if (bound) say_event(host_pod, "Scheduled");
    return bool(bound);
  }
  const std::int64_t restarts = host_pod["status"]["containerStatuses"].at(0)["restartCount"].integer();
  if (host_pod["status"]["phase"].text() != "Running") {
    say_event(host_pod, "Started");
    return report(host_pod, "Running", restarts), true;
  }
  if (name.starts_with("job") && (calm || dice_.one_in(2))) return report(host_pod, "Succeeded", restarts), true;
  if (calm || !dice_.one_in(4)) return false;
  say_event(host_pod, "BackOff");
  report(host_pod, "Running", restarts + 1);
  return true;
}

bool World::host_works() {
  if (script_.claims_and_events && dice_.one_in(4)) return claims_work(false);
  const std::vector<Document> pods = ours("pods/");
  return !pods.empty() && next_of_pod(dice_.of(pods), false);
}

bool World::host_finishes() {
  if (finished_at_ == host_.revision()) return false;
  for (const Document& pod : ours("pods/"))
    if (next_of_pod(pod, true)) return true;
  finished_at_ = host_.revision();
  return false;
}

// Others on the host --------------------------------------------------------------------------------------------------

namespace {

std::size_t kinds_of(const Script& script) { return std::size(kCrossingKinds) - (script.claims_and_events ? 0 : 1); }

}  // namespace

void World::take_name() {
  const Actor& actor = dice_.of(script_.actors);
  const std::string name = host_name_of(actor);
  if (host_.get(actor.kind, kHostNamespace, name).root().is_object()) return;
  Actor other{actor.kind, kHostNamespace, name, "", ""};
  Document object = parsed(manifest(other, 1));
  if (dice_.one_in(2))
    object.root().object("metadata").object("labels").put(syncer::kLabelTenantUid, "another-virtual-cluster");
  const auto made = host_.client().create(resource_of(actor.kind), kHostNamespace, object.root());
  if (!made) return;
  tally_.add(Fault::name_taken);
  trace_.add("fault: somebody else makes " + actor.kind + " " + name + " on the host");
  foreign_.push_back(
      {actor.kind, name, (*made)["metadata"]["uid"].string(), (*made)["metadata"]["resourceVersion"].string()});
}

void World::edit() {
  const std::string kind = kCrossingKinds[dice_.below(kinds_of(script_))];
  const std::vector<Document> all = ours(kind + "/");
  if (all.empty()) return;
  const std::string name = dice_.of(all)["metadata"]["name"].string(), number = std::to_string(++edits_);
  std::string patch = R"({"metadata":{"annotations":{"host.example/edit":")" + number + "\"}}}";
  if (kind == "configmaps" && dice_.one_in(2)) patch = R"({"data":{"version":"edited )" + number + "\"}}";
  if (kind == "services" && dice_.one_in(2)) patch = R"({"spec":{"selector":{"edited":")" + number + "\"}}}";
  if (kind == "pods" && dice_.one_in(2)) patch = R"({"metadata":{"labels":{"host.example/edit":")" + number + "\"}}}";
  const auto done = host_.client().patch(resource_of(kind), kHostNamespace, name, kube::PatchType::merge, patch);
  if (!done) return;
  tally_.add(Fault::host_edited);
  trace_.add("fault: somebody edits " + kind + " " + name + " on the host: " + patch);
}

void World::remove_ours() {
  const std::string kind = kCrossingKinds[dice_.below(kinds_of(script_))];
  const std::vector<Document> all = ours(kind + "/");
  if (all.empty()) return;
  kube::DeleteOptions options;
  if (kind == "pods" && dice_.one_in(2)) options.grace_period_seconds = 0;
  const Document& chosen = dice_.of(all);
  const std::string name = chosen["metadata"]["name"].string();
  // One without a volume would wait for ever, if a pod that a scheduler has placed keeps it.
  if (kind == "persistentvolumeclaims" && chosen["status"]["phase"].text() != "Bound") return;
  if (!host_.client().remove(resource_of(kind), kHostNamespace, name, options)) return;
  tally_.add(Fault::host_deleted);
  trace_.add("fault: somebody deletes " + kind + " " + name + " on the host" +
             (options.grace_period_seconds ? " now" : ""));
}

void World::trouble() {
  switch (dice_.below(6)) {
    case 0:
      return take_name();
    case 1:
      return remove_ours();
    default:
      return edit();
  }
}

void World::leave() {
  for (const Foreign& one : foreign_) {
    if (one.kind == "persistentvolumeclaims")
      (void)host_.client().patch(resource_of(one.kind), kHostNamespace, one.name, kube::PatchType::merge,
                                 R"({"metadata":{"finalizers":null}})");
    (void)host_.client().remove(resource_of(one.kind), kHostNamespace, one.name,
                                {.grace_period_seconds = 0, .uid = one.uid});
  }
  foreign_.clear();
}

}  // namespace sublet::simulation
