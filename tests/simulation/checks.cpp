#include "tests/simulation/checks.h"

#include <algorithm>

#include "sublet/syncer/translate.h"

namespace sublet::simulation {
namespace {

using schema::Document;
using schema::Value;

Document document_of(const store::ObjectPtr& object) {
  return object ? Document::parse_json(object->json()).value_or(Document()) : Document();
}

std::string kind_of(const std::string& key) { return key.substr(0, key.find('/')); }

struct Owner {
  std::string namespace_name, name, uid;
};

Owner owner_of(const Value& host_object) {
  const Value metadata = host_object["metadata"];
  return {metadata["labels"][syncer::kLabelTenantNamespace].string(),
          metadata["annotations"][syncer::kAnnotationTenantName].string(),
          metadata["annotations"][syncer::kAnnotationTenantUid].string()};
}

bool is_token(const Value& host_object) {
  return host_object["metadata"]["annotations"].has(syncer::kAnnotationTenantKind);
}

bool ending(const Value& object) { return object["metadata"].has("deletionTimestamp"); }

std::string named(std::string_view kind, const Value& object) {
  return std::string(kind) + " " + object["metadata"]["namespace"].string() + "/" + object["metadata"]["name"].string();
}

// "persistentvolumeclaims/NAMESPACE/NAME"; "": of another kind, or of many.
std::string claim_asked_for(std::string_view target) {
  constexpr std::string_view kNamespaces = "/api/v1/namespaces/", kClaims = "/persistentvolumeclaims/";
  const auto kind = target.find(kClaims);
  if (!target.starts_with(kNamespaces) || kind == std::string_view::npos) return {};
  return "persistentvolumeclaims/" + std::string(target.substr(kNamespaces.size(), kind - kNamespaces.size())) + "/" +
         std::string(target.substr(kind + kClaims.size()));
}

}  // namespace

void Checks::fail(std::string what) {
  if (violations_.size() < 20) violations_.push_back(std::move(what));
}

// After every write ---------------------------------------------------------------------------------------------------

void Checks::executed(Side& side, const net::Request& request, store::Revision before) {
  if (const auto claim = request.method == "GET" && &side == &tenant_ ? claim_asked_for(request.target) : std::string();
      !claim.empty())
    claims_read_[claim] = before;
  const auto changes = side.store().changes("", before);
  if (!changes) return fail("the history of " + side.name() + " is not there");
  for (const store::EventPtr& event : changes->events) {
    if (event->object->key.starts_with('~')) continue;  // the server's own books
    const bool host = &side == &host_;
    ++(host ? host_changes : tenant_changes);
    host ? on_host(*event) : on_tenant(*event);
  }
}

void Checks::on_host(const store::Event& event) {
  const std::string kind = kind_of(event.object->key);
  const Document now = document_of(event.object), before = document_of(event.previous);
  const std::string what = named(kind, now.root());
  if (event.previous && !is_ours(before.root())) return fail("the syncer touched a foreign object: " + what);
  if (!is_ours(now.root())) return fail("an object of the syncer without its mark: " + what);
  const Owner owner = owner_of(now.root());
  if (event.type == store::Event::Type::created && !is_token(now.root()) &&
      now["metadata"]["name"].text() != syncer::host_name(owner.name, owner.namespace_name, kVirtualCluster))
    fail("a host object under another name than its own: " + what);
  if (kind == "persistentvolumeclaims") return on_host_claim(event, now);
  if (kind != "pods") return;
  const Document tenant_pod = tenant_.get("pods", owner.namespace_name, owner.name);
  const bool its_own = tenant_pod["metadata"]["uid"].text() == owner.uid;
  if (event.type == store::Event::Type::created) {
    // What was seen to run may never run a second time under the same uid.
    if (its_own && host_pods_of_[owner.uid] > 0 && !tenant_pod["spec"]["nodeName"].text().empty())
      fail("a second host pod for one that has run: " + what);
    ++host_pods_of_[owner.uid];
    claims_are_current(now);
  }
  const bool ended = event.type == store::Event::Type::deleted || (ending(now.root()) && !ending(before.root()));
  if (ended && its_own && !ending(tenant_pod.root())) fail("the host pod of a living tenant pod was ended: " + what);
}

// A pod that comes while the host still has an earlier claim of its claim's name would run with that one's volume. The
// syncer can know no later state of the tenant's claim than the one that it asked for last.
void Checks::claims_are_current(const Document& new_host_pod) {
  for (const Value volume : new_host_pod["spec"]["volumes"]) {
    const Document host_claim =
        host_.get("persistentvolumeclaims", kHostNamespace, volume["persistentVolumeClaim"]["claimName"].text());
    if (!is_ours(host_claim.root())) continue;
    const Owner owner = owner_of(host_claim.root());
    const Document claim = tenant_.get("persistentvolumeclaims", owner.namespace_name, owner.name);
    if (claim["metadata"]["uid"].text() == owner.uid) continue;
    const std::string key = "persistentvolumeclaims/" + owner.namespace_name + "/" + owner.name;
    const auto since = tenant_.store().changes(key, claims_read_[key]);
    if (since && since->events.empty())
      fail("a pod came to the host beside an earlier claim: " + named("pods", new_host_pod.root()));
  }
}

// Data is never papered over: what is known to have had a volume does not get an empty one.
void Checks::on_host_claim(const store::Event& event, const Document& now) {
  const Owner owner = owner_of(now.root());
  const Document claim = tenant_.get("persistentvolumeclaims", owner.namespace_name, owner.name);
  const bool its_own = claim["metadata"]["uid"].text() == owner.uid;
  if (event.type == store::Event::Type::created && its_own && !claim["spec"]["volumeName"].text().empty())
    fail("a new host claim for one that was bound: " + named("persistentvolumeclaims", now.root()));
}

void Checks::on_tenant_claim(const Document& now, const Document& before) {
  if (now["status"]["phase"].text() != "Lost" || before["status"]["phase"].text() == "Lost") return;
  const Document host_claim = host_.get(
      "persistentvolumeclaims", kHostNamespace,
      syncer::host_name(now["metadata"]["name"].text(), now["metadata"]["namespace"].text(), kVirtualCluster));
  if (is_ours(host_claim.root()) && owner_of(host_claim.root()).uid == now["metadata"]["uid"].text())
    fail("a claim was said to be lost that is there: " + named("persistentvolumeclaims", now.root()));
}

void Checks::on_tenant(const store::Event& event) {
  const std::string kind = kind_of(event.object->key);
  if (kind != "pods" && kind != "persistentvolumeclaims") return;
  const Document now = document_of(event.object), before = document_of(event.previous);
  if (kind != "pods") return on_tenant_claim(now, before);
  const std::string what = named("pods", now.root()), uid = now["metadata"]["uid"].string();
  const Document host_pod = host_.get(
      "pods", kHostNamespace,
      syncer::host_name(now["metadata"]["name"].text(), now["metadata"]["namespace"].text(), kVirtualCluster));
  const bool its_own = is_ours(host_pod.root()) && owner_of(host_pod.root()).uid == uid;
  const bool gone = event.type == store::Event::Type::deleted;
  if (gone && its_own && !has_ended(host_pod.root()) && !host_pod["spec"]["nodeName"].text().empty())
    fail("a tenant pod went while its host pod still ran: " + what);
  if (!ending(before.root()) && (gone || ending(now.root()))) {
    if (host_pods_of_[uid] == 0) fail("a tenant pod was ended that never had a host pod: " + what);
    if (its_own && !ending(host_pod.root())) fail("a tenant pod was ended whose host pod lives: " + what);
  }
  if (!gone && now["status"].has("startTime") && !before["status"].has("startTime") && host_pods_of_[uid] == 0)
    fail("a tenant pod was said to run that never had a host pod: " + what);
}

void Checks::foreign_untouched(const std::vector<Foreign>& foreign) {
  for (const Foreign& one : foreign) {
    const Document now = host_.get(one.kind, kHostNamespace, one.name);
    if (now["metadata"]["uid"].text() != one.uid || now["metadata"]["resourceVersion"].text() != one.resource_version)
      fail("a foreign object is not as it was: " + one.kind + " " + one.name);
  }
}

// At rest -------------------------------------------------------------------------------------------------------------

std::set<std::string> Checks::used(const char* kind) const {
  std::set<std::string> keys;
  tenant_.each("pods/", [&](const store::Object&, const Document& pod) {
    if (has_ended(pod.root())) return;
    const std::string space = pod["metadata"]["namespace"].string() + "/";
    const bool maps = std::string_view(kind) == "configmaps";
    for (const Value container : pod["spec"]["containers"])
      for (const Value from : container["envFrom"])
        if (maps) keys.insert(space + from["configMapRef"]["name"].string());
    for (const Value volume : pod["spec"]["volumes"]) {
      if (!maps && volume.has("secret")) keys.insert(space + volume["secret"]["secretName"].string());
      for (const Value source : volume["projected"]["sources"])
        if (maps && source.has("configMap")) keys.insert(space + source["configMap"]["name"].string());
    }
  });
  return keys;
}

void Checks::pod_at_rest(const Document& pod) {
  const std::string what = named("pods", pod.root());
  if (ending(pod.root())) return fail("at rest a tenant pod is still ending: " + what);
  const Document host_pod = host_.get(
      "pods", kHostNamespace,
      syncer::host_name(pod["metadata"]["name"].text(), pod["metadata"]["namespace"].text(), kVirtualCluster));
  if (!is_ours(host_pod.root()) || owner_of(host_pod.root()).uid != pod["metadata"]["uid"].text()) {
    // One that is over may have been deleted there: it does not run again.
    if (!has_ended(pod.root())) fail("at rest the host has no pod of " + what);
    return;
  }
  if (ending(host_pod.root())) fail("at rest the host pod is still ending: " + what);
  if (!host_pod["spec"]["containers"].at(0)["image"].equals(pod["spec"]["containers"].at(0)["image"]) &&
      !has_ended(pod.root()))
    fail("at rest the image differs: " + what);
  if (host_pod["metadata"]["labels"]["t.sublet.dev/version"].text() != pod["metadata"]["labels"]["version"].text() &&
      !has_ended(pod.root()))
    fail("at rest the labels differ: " + what);
  if (!host_pod["spec"]["nodeName"].equals(pod["spec"]["nodeName"])) fail("at rest the node differs: " + what);
  for (const char* field : {"phase", "podIP"})
    if (host_pod["status"][field].text() != pod["status"][field].text())
      fail("at rest status." + std::string(field) + " differs: " + what + ": " + host_pod["status"][field].string() +
           " on the host, " + pod["status"][field].string() + " in the tenant");
  const Value theirs = host_pod["status"]["containerStatuses"].at(0), ours = pod["status"]["containerStatuses"].at(0);
  for (const char* field : {"restartCount", "ready", "state"})
    if (!theirs[field].equals(ours[field])) fail("at rest the containers' " + std::string(field) + " differs: " + what);
  if (!has_ended(pod.root())) references_resolve(host_pod);
}

void Checks::references_resolve(const Document& host_pod) {
  const std::string what = named("pods", host_pod.root());
  for (const Value volume : host_pod["spec"]["volumes"])
    for (const Value source : volume["projected"]["sources"]) {
      const Value secret = source["secret"];
      if (!secret) continue;
      const Document there = host_.get("secrets", kHostNamespace, secret["name"].text());
      if (!there.root().is_object()) fail("at rest the host has no Secret " + secret["name"].string() + " of " + what);
      const auto renewed_at = parse_time(there["metadata"]["annotations"]["sublet.dev/token-refresh"].text());
      if (!renewed_at || *renewed_at <= clock_.now()) fail("at rest a token is older than it may be of " + what);
      for (const Value item : secret["items"])
        if (!there["data"].has(item["key"].text())) fail("at rest a token is missing of " + what);
    }
}

void Checks::copied_at_rest(const char* kind, const Document& object) {
  const std::string what = named(kind, object.root());
  const Document on_host = host_.get(
      kind, kHostNamespace,
      syncer::host_name(object["metadata"]["name"].text(), object["metadata"]["namespace"].text(), kVirtualCluster));
  if (!is_ours(on_host.root()) || owner_of(on_host.root()).uid != object["metadata"]["uid"].text())
    return fail("at rest the host has no " + what);
  if (!on_host["data"].equals(object["data"]) && std::string_view(kind) != "services")
    fail("at rest the data differ: " + what);
  if (std::string_view(kind) != "services") return;
  if (on_host["spec"]["ports"].at(0)["port"].integer() != object["spec"]["ports"].at(0)["port"].integer())
    fail("at rest the ports differ: " + what);
  if (on_host["spec"]["selector"].has("edited")) fail("at rest the selector is not ours: " + what);
  if (object["spec"]["clusterIP"].text().empty() || !on_host["spec"]["clusterIP"].equals(object["spec"]["clusterIP"]))
    fail("at rest the addresses differ: " + what);
}

void Checks::claim_at_rest(const Document& claim) {
  const std::string what = named("persistentvolumeclaims", claim.root());
  if (ending(claim.root())) return fail("at rest a claim is still ending: " + what);
  const Document on_host = host_.get(
      "persistentvolumeclaims", kHostNamespace,
      syncer::host_name(claim["metadata"]["name"].text(), claim["metadata"]["namespace"].text(), kVirtualCluster));
  if (!is_ours(on_host.root()) || owner_of(on_host.root()).uid != claim["metadata"]["uid"].text())
    return fail("at rest the host has no " + what);
  if (ending(on_host.root())) {  // somebody deleted it there, and a pod keeps it until its own end
    bool used = false;
    host_.each("pods/", [&](const store::Object&, const Document& pod) {
      for (const Value volume : pod["spec"]["volumes"])
        used = used || volume["persistentVolumeClaim"]["claimName"].equals(on_host["metadata"]["name"]);
    });
    if (!used) fail("at rest the host's claim is still ending: " + what);
    return;
  }
  if (claim["status"]["phase"].text() != "Bound" || on_host["status"]["phase"].text() != "Bound")
    fail("at rest it is not bound: " + what + ": " + claim["status"]["phase"].string());
  if (!claim["spec"]["volumeName"].equals(on_host["spec"]["volumeName"])) fail("at rest the volumes differ: " + what);
  if (on_host["metadata"]["labels"]["t.sublet.dev/version"].text() != claim["metadata"]["labels"]["version"].text())
    fail("at rest the labels differ: " + what);
}

// Of each pod that both sides have: what the host said of it is told in the tenant, once, and as often.
void Checks::events_at_rest() {
  std::map<std::string, std::pair<std::string, std::string>> pods;  // by the host's uid: the tenant's, the host's name
  host_.each("pods/", [&](const store::Object&, const Document& host_pod) {
    const Owner owner = owner_of(host_pod.root());
    const Document pod = tenant_.get("pods", owner.namespace_name, owner.name);
    if (is_ours(host_pod.root()) && pod["metadata"]["uid"].text() == owner.uid)
      pods[host_pod["metadata"]["uid"].string()] = {owner.uid, host_pod["metadata"]["name"].string()};
  });
  std::multiset<std::string> told;
  tenant_.each("events/", [&](const store::Object&, const Document& event) {
    const std::string message = event["message"].string();
    told.insert(event["involvedObject"]["uid"].string() + " " + message.substr(0, message.find(' ')) + " " +
                std::to_string(event["count"].integer()));
    if (message.starts_with("e") && message.find("-x-") != std::string::npos)
      fail("an event tells a host's name: " + message);
  });
  host_.each("events/", [&](const store::Object&, const Document& event) {
    const auto pod = pods.find(event["involvedObject"]["uid"].string());
    if (pod == pods.end()) return;
    const std::string name = event["metadata"]["name"].string();
    const std::size_t times =
        told.count(pod->second.first + " " + name + " " + std::to_string(event["count"].integer()));
    if (times != 1)
      fail("at rest event " + name + " of " + pod->second.second + " was told " + std::to_string(times) + " times");
  });
}

std::set<std::string> Checks::wanted_on_host() const {
  std::set<std::string> uids;
  for (const char* kind : kCrossingKinds)
    tenant_.each(std::string(kind) + "/", [&](const store::Object&, const Document& object) {
      uids.insert(object["metadata"]["uid"].string());
    });
  return uids;
}

void Checks::nothing_else_on_host() {
  const std::set<std::string> wanted = wanted_on_host();
  const std::set<std::string> maps = used("configmaps"), secrets = used("secrets");
  for (const char* kind : kCrossingKinds)
    host_.each(std::string(kind) + "/", [&](const store::Object&, const Document& object) {
      if (!is_ours(object.root()) || is_token(object.root())) return;
      const Owner owner = owner_of(object.root());
      const std::string key = owner.namespace_name + "/" + owner.name;
      const std::string_view name = kind;
      const bool unused =
          (name == "configmaps" && !maps.contains(key)) || (name == "secrets" && !secrets.contains(key));
      if (!wanted.contains(owner.uid) || unused)
        fail("at rest the host has what is not wanted: " + named(kind, object.root()));
    });
}

void Checks::at_rest() {
  tenant_.each("pods/", [&](const store::Object&, const Document& pod) { pod_at_rest(pod); });
  for (const char* kind : {"configmaps", "secrets", "services"}) {
    const std::set<std::string> keys = used(kind);
    tenant_.each(std::string(kind) + "/", [&](const store::Object&, const Document& object) {
      const std::string key = object["metadata"]["namespace"].string() + "/" + object["metadata"]["name"].string();
      const bool service = std::string_view(kind) == "services";
      if (service ? key != "default/kubernetes" : keys.contains(key)) copied_at_rest(kind, object);
    });
  }
  tenant_.each("persistentvolumeclaims/", [&](const store::Object&, const Document& claim) { claim_at_rest(claim); });
  events_at_rest();
  nothing_else_on_host();
  for (const char* node : {"node-1", "node-2"})
    if (!tenant_.get("nodes", "", node).root().is_object()) fail(std::string("at rest the tenant has no node ") + node);
}

bool Checks::waits_for_others() const {
  bool found = false;
  host_.each("persistentvolumeclaims/", [&](const store::Object&, const Document& claim) {
    found = found || (is_ours(claim.root()) && claim["metadata"].has("deletionTimestamp"));
  });
  return found;
}

std::string Checks::end() const {
  std::string text;
  const auto note = [&](std::string_view side, std::string_view kind, const Document& object) {
    text += std::string(side) + " " + named(kind, object.root()) + " " +
            object["metadata"]["labels"]["version"].string() + " " +
            object["metadata"]["labels"]["t.sublet.dev/version"].string() + " " + object["data"].to_json() + " " +
            object["spec"]["containers"].at(0)["image"].string() + " " + object["spec"]["nodeName"].string() + " " +
            object["spec"]["ports"].at(0)["port"].to_json() + " " + object["status"]["phase"].string() + "\n";
  };
  for (const char* kind : kCrossingKinds) {
    tenant_.each(std::string(kind) + "/",
                 [&](const store::Object&, const Document& object) { note("tenant", kind, object); });
    host_.each(std::string(kind) + "/", [&](const store::Object&, const Document& object) {
      if (is_ours(object.root()) && !is_token(object.root()) && !has_ended(object.root())) note("host", kind, object);
    });
  }
  return text;
}

}  // namespace sublet::simulation
