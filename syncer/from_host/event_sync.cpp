// Events: host events about the host objects of a tenant become events about the tenant's objects, so that `kubectl
// describe` shows them. Host names in the text become the tenant's. The informer drops events once they are written: a
// pod has more bytes in its events than in itself.
#include <algorithm>

#include "sublet/kube/json_scan.h"
#include "sublet/net/digest.h"
#include "sublet/syncer/node_names.h"
#include "syncer/border/border.h"
#include "syncer/from_host/text_for_tenant.h"
#include "syncer/translate/names.h"
#include "syncer/translate/translation.h"

namespace sublet::syncer {
namespace {

using kube::CachedObject;
using kube::CachedPtr;
using schema::Document;
using schema::Value;

constexpr const char* kAbout = "about";
const std::string kPastEvent = std::string(kPast) + "Event";
// What the scheduler and the kubelet say of a pod comes while the pod itself is on its way, through the same processors
// and the same disk. They are written a moment later; repeats meanwhile are written once.
constexpr std::chrono::milliseconds kEventsYield{50};

// The kind whose objects on the host an event can be about; null: none.
const KindSides* about(const Border& border, const Value& host_event) {
  const std::string_view kind = host_event["involvedObject"]["kind"].text();
  const std::string_view version = host_event["involvedObject"]["apiVersion"].text();
  const std::size_t slash = version.find('/');
  const std::string_view group = slash == std::string_view::npos ? "" : version.substr(0, slash);
  for (const KindSides& one : border.kinds())
    if (one.kind.direction == Direction::to_host && one.host && one.kind.kubernetes_kind() == kind &&
        (version.empty() ? !one.kind.custom : one.kind.resource.group == group))
      return &one;
  return nullptr;
}

// Those that repeats of an event change.
constexpr std::string_view kGrowing[] = {"count", "lastTimestamp", "series", "message"};

// Of a node that is new the event may come before its Node.
void meet_nodes(Border& border, const Value& host_event) {
  NodeNames* const names = border.context().node_names.get();
  if (!names) return;
  names->meet(host_event["source"]["host"].text());
  constexpr std::string_view kAssigned = "Successfully assigned ", kTo = " to ";
  const std::string_view message = host_event["message"].text();
  const auto to = message.rfind(kTo);
  if (message.starts_with(kAssigned) && to != std::string_view::npos) names->meet(message.substr(to + kTo.size()));
}

// What a container answered its probe or hook stands in these: a tenant must not find out by them which names are
// nodes'.
bool repeats_container(std::string_view reason) {
  return reason == "Unhealthy" || reason == "ProbeWarning" || reason == "FailedPostStartHook" ||
         reason == "FailedPreStopHook";
}

Document tenant_event(Border& border, const SyncedKind& about, const Value& host_event, const TenantIdentity& owner,
                      const std::string& name) {
  meet_nodes(border, host_event);
  Document document = carry_back("Event", host_event, Value(), border.context());
  Value root = document.root();
  root.retain([](const Value& field) { return !field.is_null(); });
  root.put("apiVersion", "v1");
  root.put("kind", "Event");
  Value metadata = root.object("metadata");
  metadata.put("name", name);
  metadata.put("namespace", owner.namespace_name);
  Value involved = root.object("involvedObject");
  involved.put("apiVersion", about.api_version());
  involved.put("kind", about.kubernetes_kind());
  involved.put("namespace", owner.namespace_name);
  involved.put("name", owner.name);
  involved.put("uid", owner.uid);
  root.put("message", text_for_tenant(border, host_event["message"].text(), host_event["involvedObject"]["name"].text(),
                                      owner, repeats_container(host_event["reason"].text())));
  return document;
}

struct TenantEvent {
  TenantIdentity owner;
  std::string name;
  Document event;
};

// Returns the tenant's event for a host event; nullopt if it is not about a tenant's object, as far as is known.
std::optional<TenantEvent> event_for_tenant(Border& border, const CachedObject& cached) {
  const Document host_event = cached.document();
  const KindSides* const kind = about(border, host_event.root());
  if (!kind) return std::nullopt;
  const Value involved = host_event["involvedObject"];
  const std::string name_on_host = involved["name"].string();
  // Of an earlier object of that name, or of a later one than the copy has.
  if (const auto there = kind->host->get(border.host_place(kind->kind), name_on_host);
      there && !involved["uid"].text().empty() && involved["uid"].text() != there->uid)
    return std::nullopt;
  const auto owner = tenant_of(border, *kind, name_on_host);
  if (!owner || owner->name.empty()) return std::nullopt;
  const std::string name = owner->name.substr(0, 200) + "." + net::sha256_hex(cached.uid, 16);
  return TenantEvent{*owner, name, tenant_event(border, kind->kind, host_event.root(), *owner, name)};
}

Outcome write_event(Border& border, const TenantEvent& what) {
  const auto& [owner, name, event] = what;
  ++border.tenant.writes;
  const auto created =
      border.tenant.client.send(border.tenant.client.create_request(kEvents, owner.namespace_name, event.root()));
  if (created || created.error().is(Reason::not_found) || created.error().is(Reason::forbidden)) return {};
  if (!created.error().is(Reason::already_exists)) return fail(created.error());
  Document patch = Document::object();
  for (const std::string_view field : kGrowing)
    if (const Value value = event[field]) patch.root().put(field, value);
  ++border.tenant.writes;
  const auto patched =
      border.tenant.client.patch(kEvents, owner.namespace_name, name, kube::PatchType::merge, patch.to_json());
  if (patched || patched.error().is(Reason::not_found)) return {};
  return fail(patched.error());
}

bool has_it(Border& border, const TenantEvent& what) {
  const auto existing = border.tenant.client.get(kEvents, what.owner.namespace_name, what.name);
  return existing && std::all_of(std::begin(kGrowing), std::end(kGrowing), [&](std::string_view field) {
           return !what.event[field] || what.event[field].equals(existing->root()[field]);
         });
}

// One that is gone is not taken back: the tenant's expires by itself.
Result<Requeue> look_at(Border& border, const KindSides& sides, const std::string& host_namespace,
                        const std::string& host_event, bool (*has_event)(Border& border, const TenantEvent& what)) {
  const auto cached = sides.host->get(host_namespace, host_event);
  if (!cached) return Requeue();
  const auto what = event_for_tenant(border, *cached);
  if (!what) {  // of somebody else's object, or of one that is still to come
    sides.host->keep(cached);
    return Requeue();
  }
  if (!has_event(border, *what))
    if (const auto written = write_event(border, *what); !written) return fail(written.error());
  sides.host->let_go(cached);
  return Requeue();
}

}  // namespace

void watch_host_events(Border& border, KindSides& sides) {
  // An event may come before the pod that it is about, for they come on two watches: it is looked at again then.
  sides.host->add_index(kAbout, [](const CachedObject& event) {
    const auto about = kube::json_member(event.json, "involvedObject");
    return std::vector<std::string>{kube::json_unquote(kube::json_member(about.value_or("{}"), "name").value_or(""))};
  });
  for (const KindSides& one : border.kinds()) {
    if (one.kind.direction != Direction::to_host || !one.host) continue;
    one.host->add_handler([&border, &sides](const CachedPtr& before, const CachedPtr& after) {
      if (before) return;
      auto events = sides.host->by_index(kAbout, after->name);
      std::ranges::sort(events, {}, [](const CachedPtr& event) { return event->name; });  // as in any other process
      for (const auto& event : events) border.enqueue("Event", *event);
    });
  }
  sides.host->add_handler([&border, &sides](const CachedPtr& before, const CachedPtr& after) {
    if (!after || (before && before->resource_version == after->resource_version)) return;
    if (!sides.host->synced()) return border.enqueue(kPastEvent, *after);
    border.queue.add_after(queue_key("Event", after->namespace_name, after->name), kEventsYield);
  });
}

int lane_of_event(const Border&, const KindSides&, std::string_view, std::string_view) { return 2; }

Result<Requeue> reconcile_event(Border& border, const KindSides& sides, const std::string& host_namespace,
                                const std::string& host_event) {
  return look_at(border, sides, host_namespace, host_event, [](Border&, const TenantEvent&) { return false; });
}

Result<Requeue> reconcile_past_event(Border& border, const KindSides& sides, const std::string& host_namespace,
                                     const std::string& host_event) {
  return look_at(border, sides, host_namespace, host_event, has_it);
}

}  // namespace sublet::syncer
