#include "syncer/border.h"

#include <algorithm>
#include <cassert>

#include "sublet/base/log.h"
#include "sublet/base/random.h"
#include "sublet/net/digest.h"
#include "sublet/syncer/host_audit.h"
#include "sublet/syncer/node_names.h"
#include "syncer/translate/names.h"

namespace sublet::syncer {

using schema::Document;
using schema::Value;

std::string queue_key(std::string_view kind, std::string_view namespace_name, std::string_view name) {
  return std::string(kind).append("/").append(namespace_name).append("/").append(name);
}

KeyParts split_key(std::string_view key) {
  const auto first = key.find('/');
  const auto second = key.find('/', first + 1);
  return {key.substr(0, first), key.substr(first + 1, second - first - 1), key.substr(second + 1)};
}

void write_for(const kube::Resource& resource, std::string_view namespace_name, std::string_view name,
               const kube::CachedObject* object) {
  CauseScope::change(
      {cause_key(resource.group, resource.resource, namespace_name, name), object ? object->resource_version : ""});
}

namespace {

kube::InformerOptions copy_of_host(const SyncedKind& kind, const Border& border) {
  kube::InformerOptions copy;
  copy.trim = kind.trim_host_copy;
  copy.passing = kind.passing;
  copy.namespace_name = border.host_place(kind);
  if (kind.host_copy == HostCopy::ours || kind.host_copy == HostCopy::ours_in_cluster)
    copy.label_selector = std::string(kLabelTenantUid) + "=" + border.context().virtual_cluster_uid;
  if (kind.shown && border.context().resolved_template)
    copy.label_selector = border.context().resolved_template->config().*kind.shown;
  if (kind.custom && kind.direction == Direction::from_host && (kind.only.empty() || kind.mapping))
    copy.label_selector = kind.custom->selector;
  return copy;
}

std::unique_ptr<kube::Informer> informer(Strand& strand, const kube::Client& client, const SyncedKind& kind,
                                         kube::InformerOptions options, const SyncerOptions& syncer_options) {
  options.resource = kind.resource;
  // Of a mapping the field selector is for the host's side: the copies are chosen by their label.
  const bool of_host =
      options.label_selector.empty() || (kind.custom && options.label_selector != kind.tenant_selector);
  if (!kind.only.empty() && (!kind.mapping || of_host))
    options.field_selector = "metadata.name=" + std::string(kind.only);
  options.clock = syncer_options.clock;
  options.random = syncer_options.random;
  return std::make_unique<kube::Informer>(strand, client, std::move(options));
}

// Somebody who starts a syncer without names that outlive it gets some that do not.
SyncerOptions with_node_names(SyncerOptions options) {
  if (!options.context.node_names && config_of(options.context).pseudo_node_names)
    options.context.node_names = std::make_shared<NodeNames>(NodeNames::new_key(*options.random));
  return options;
}

HostNode host_node(const kube::CachedObject& cached) {
  const Document node = cached.document();
  HostNode known{cached.name, node["metadata"]["labels"][kHostnameLabel].string(), {}};
  for (const Value address : node["status"]["addresses"]) known.addresses.push_back(address["address"].string());
  return known;
}

// By what a node is called; the rest of it is a thousand times as long.
void leave_node_names(std::string& json) {
  const auto read = Document::parse_json(json);
  if (!read) return;
  const Document kept = Document::object();
  Value metadata = kept.root().object("metadata");
  for (const char* member : {"name", "uid", "resourceVersion", "labels"})
    metadata.put(member, (*read)["metadata"][member]);
  kept.root().object("status").put("addresses", (*read)["status"]["addresses"]);
  json = kept.to_json();
}

}  // namespace

Border::Border(Strand& informers, kube::Client tenant_client, kube::Client host_client, SyncerOptions syncer_options)
    : tenant(std::move(tenant_client)),
      host(telling(std::move(host_client), [this](bool answered) { outage.heard(answered); })),
      options(with_node_names(std::move(syncer_options))),
      uses(options.context) {
  kinds.reserve(table.size());
  for (const SyncedKind& kind : table) {
    Sides& sides = kinds.emplace_back(Sides{kind, nullptr, nullptr});
    if (!is_wanted(kind, context()) && !kind.tidied_unwanted) continue;
    if (kind.resource.version.empty()) continue;  // the host serves no such custom resource
    kube::InformerOptions selected;
    selected.label_selector = kind.tenant_selector;
    if (kind.watch_tenant) sides.tenant = informer(informers, tenant, kind, selected, options);
    if (kind.watch_host) sides.host = informer(informers, host, kind, copy_of_host(kind, *this), options);
  }
  if (config_of(context()).network_policies_to_host)
    tenant_namespaces = std::make_unique<kube::Informer>(
        informers, tenant,
        kube::InformerOptions{.resource = {"", "v1", "namespaces"}, .clock = options.clock, .random = options.random});
  if (nodes().are_pseudo()) learn_nodes(informers);
  // Handlers of one kind look at the copies of others: all are there now.
  for (Sides& sides : kinds) {
    if (sides.tenant) sides.kind.watch_tenant(*this, sides);
    if (sides.host) sides.kind.watch_host(*this, sides);
    // What somebody deleted before the copy had it looks as if it had never been made: all of the kind is looked at
    // again.
    for (kube::Informer* copy : {sides.tenant.get(), sides.host.get()})
      if (copy && sides.kind.resync) copy->on_relist([this, &sides] { sides.kind.resync(*this, sides); });
  }
}

void Border::learn_nodes(Strand& informers) {
  const SyncedKind& kind = sides("Node").kind;
  kube::Informer* copy = sides("Node").host.get();
  if (copy == nullptr || !copy->options().label_selector.empty()) {
    host_nodes = std::make_unique<kube::Informer>(
        informers, host,
        kube::InformerOptions{
            .resource = kind.resource, .trim = leave_node_names, .clock = options.clock, .random = options.random});
    copy = host_nodes.get();
  }
  copy->add_handler([this](const kube::CachedPtr& before, const kube::CachedPtr& after) {
    NodeNames& names = *options.context.node_names;
    if (!after) return names.note_gone(before->name);
    names.know(host_node(*after));
    for (const std::string& pod : awaited_claims.take(queue_key("Node", "", names.to_tenant(after->name))))
      queue.add(pod);
  });
  // Pods may be bound before their Node has come here.
  sides("Pod").host->add_handler([this](const kube::CachedPtr&, const kube::CachedPtr& after) {
    if (after) options.context.node_names->meet(after->text({"spec", "nodeName"}));
  });
}

std::vector<kube::Informer*> Border::copies() const {
  std::vector<kube::Informer*> all;
  for (const Sides& one : kinds)
    for (kube::Informer* copy : {one.tenant.get(), one.host.get()})
      if (copy) all.push_back(copy);
  if (tenant_namespaces) all.push_back(tenant_namespaces.get());
  if (host_nodes) all.push_back(host_nodes.get());
  return all;
}

kube::CachedPtr Border::carried(const Sides& sides, std::string_view tenant_namespace, std::string_view tenant_name) {
  auto object = sides.tenant->get(tenant_namespace, tenant_name);
  write_for(sides.kind.resource, tenant_namespace, tenant_name, object.get());
  return object;
}

bool Border::is_used(std::string_view key) const {
  return std::ranges::any_of(kinds, [&](const Sides& one) {
    return one.tenant && one.kind.uses_others && !one.tenant->by_index(kUsesIndex, key).empty();
  });
}

Border::~Border() { stop_informers(); }

void Border::stop_informers() {
  for (kube::Informer* copy : copies()) copy->stop();
}

const Sides* Border::sides_of_key(std::string_view kind) const {
  for (const Sides& one : kinds)
    if (one.kind.kind == kind) return &one;
  return nullptr;
}

const Sides& Border::sides(std::string_view kind) const {
  const Sides* found = sides_of_key(kind);
  assert(found != nullptr);
  return *found;
}

void Border::enqueue(std::string_view kind, const kube::CachedObject& object) {
  queue.add(queue_key(kind, object.namespace_name, object.name));
}

int Border::lane_of(std::string_view key) const {
  KeyParts parts = split_key(key);
  if (parts.kind.starts_with(kPast)) parts.kind.remove_prefix(kPast.size());
  const Sides* found = sides_of_key(parts.kind);
  return found && found->kind.lane ? found->kind.lane(*this, *found, parts.namespace_name, parts.name) : 0;
}

Document whole(const kube::CachedObject& cached, const SyncedKind& kind) {
  return whole(cached, kind.api_version(), kind.kubernetes_kind());
}

Document whole(const kube::CachedObject& cached, std::string_view api_version, std::string_view kind) {
  Document document = cached.document();
  Value root = document.root();
  if (!root.is_object()) root.make_object();
  root.put("apiVersion", api_version);
  root.put("kind", kind);
  return document;
}

bool is_ours(const Border& border, const Value& host_object) {
  return host_object["metadata"]["labels"][kLabelTenantUid].text() == border.context().virtual_cluster_uid;
}

TenantIdentity tenant_identity(const Value& host_object) {
  const Value metadata = host_object["metadata"], annotations = metadata["annotations"];
  return {metadata["labels"][kLabelTenantNamespace].string(), annotations[kAnnotationTenantName].string(),
          annotations[kAnnotationTenantUid].string()};
}

TenantIdentity tenant_identity(const kube::CachedObject& host_object) {
  return {host_object.text({"metadata", "labels", kLabelTenantNamespace}),
          host_object.text({"metadata", "annotations", kAnnotationTenantName}),
          host_object.text({"metadata", "annotations", kAnnotationTenantUid})};
}

namespace {

// One event object per (object, reason, message): repeats patch its count, as upstream's recorder does.
Document make_event(const Border& border, const Value& object, std::string_view type, std::string_view reason,
                    std::string_view message, const std::string& space, const std::string& name) {
  const std::string now = format_time(border.clock.now());
  Document event = Document::object();
  Value root = event.root();
  root.put("apiVersion", "v1");
  root.put("kind", "Event");
  Value metadata = root.object("metadata");
  metadata.put("name", name);
  metadata.put("namespace", space);
  Value involved = root.object("involvedObject");
  involved.put("apiVersion", object["apiVersion"].text());
  involved.put("kind", object["kind"].text());
  involved.put("namespace", object["metadata"]["namespace"].text());
  involved.put("name", object["metadata"]["name"].text());
  involved.put("uid", object["metadata"]["uid"].text());
  root.put("type", type);
  root.put("reason", reason);
  root.put("message", message);
  root.object("source").put("component", "sublet-syncer");
  root.put("firstTimestamp", now);
  root.put("lastTimestamp", now);
  root.put("count", 1);
  root.put("reportingComponent", "sublet-syncer");
  return event;
}

}  // namespace

Outcome remove_from_tenant(Border& border, const kube::Resource& resource, const kube::CachedObject& tenant_object) {
  kube::DeleteOptions options;
  options.uid = tenant_object.uid;
  ++border.tenant_writes;
  const auto removed = border.tenant.remove(resource, tenant_object.namespace_name, tenant_object.name, options);
  return removed || removed.error().is(Reason::not_found) ? Outcome() : fail(removed.error());
}

void record_tenant_event(Border& border, const Value& tenant_object, std::string_view type, std::string_view reason,
                         std::string_view message) {
  const std::string_view of_object = tenant_object["metadata"]["namespace"].text();
  const std::string namespace_name(of_object.empty() ? "default" : of_object);  // as Kubernetes' own do it
  const std::string object_name = tenant_object["metadata"]["name"].string();
  const std::string identity = tenant_object["metadata"]["uid"].string() + std::string(reason) + std::string(message);
  const std::string name = object_name.substr(0, 200) + "." + net::sha256_hex(identity, 16);
  const Document event = make_event(border, tenant_object, type, reason, message, namespace_name, name);
  const auto created = border.tenant.create(kEvents, namespace_name, event.root());
  ++border.tenant_writes;
  if (created) return;
  if (created.error().is(Reason::already_exists)) {
    const auto existing = border.tenant.get(kEvents, namespace_name, name);
    if (!existing) return;
    Document patch = Document::object();
    patch.root().put("count", existing->root()["count"].integer(1) + 1);
    patch.root().put("lastTimestamp", format_time(border.clock.now()));
    if (border.tenant.patch(kEvents, namespace_name, name, kube::PatchType::merge, patch.to_json())) return;
  }
  log::warning("syncer.event_not_written",
               {{"object", object_name}, {"reason", reason}, {"cause", created.error().message}});
}

}  // namespace sublet::syncer
