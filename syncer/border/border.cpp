#include "syncer/border/border.h"

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
  // A mapping's field selector is for the host's side only: the tenant's copies are selected by label.
  const bool of_host =
      options.label_selector.empty() || (kind.custom && options.label_selector != kind.tenant_selector);
  if (!kind.only.empty() && (!kind.mapping || of_host))
    options.field_selector = "metadata.name=" + std::string(kind.only);
  options.clock = syncer_options.clock;
  options.random = syncer_options.random;
  return std::make_unique<kube::Informer>(strand, client, std::move(options));
}

// A syncer that is started without persistent node names gets names that last as long as it runs.
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

// Keeps only the names of a node, which is a thousandth of the object.
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

Border::Border(Strand& strand, kube::Client tenant_client, kube::Client host_client, SyncerOptions syncer_options)
    : options(with_node_names(std::move(syncer_options))),
      pods(options.context),
      tenant(std::move(tenant_client), *options.clock),
      host(std::move(host_client), queue, options) {
  kinds_.reserve(table_.size());
  for (const SyncedKind& kind : table_) {
    KindSides& sides = kinds_.emplace_back(KindSides{kind, nullptr, nullptr});
    if (!is_wanted(kind, context()) && !kind.tidied_unwanted) continue;
    if (kind.resource.version.empty()) continue;  // the host serves no such custom resource
    kube::InformerOptions selected;
    selected.label_selector = kind.tenant_selector;
    if (kind.watch_tenant) sides.tenant = informer(strand, tenant.client, kind, selected, options);
    if (kind.watch_host) sides.host = informer(strand, host.client, kind, copy_of_host(kind, *this), options);
  }
  if (config_of(context()).network_policies_to_host)
    tenant_namespaces_ = std::make_unique<kube::Informer>(
        strand, tenant.client,
        kube::InformerOptions{.resource = {"", "v1", "namespaces"}, .clock = options.clock, .random = options.random});
  if (nodes().are_pseudo()) learn_nodes(strand);
  // Handlers of one kind read informers of others, so they are added once all informers exist.
  for (KindSides& sides : kinds_) {
    if (sides.tenant) sides.kind.watch_tenant(*this, sides);
    if (sides.host) sides.kind.watch_host(*this, sides);
    // An object that was deleted before the informer had it leaves no event, so a new list reconciles the whole kind.
    for (kube::Informer* copy : {sides.tenant.get(), sides.host.get()})
      if (copy && sides.kind.resync) copy->on_relist([this, &sides] { sides.kind.resync(*this, sides); });
  }
}

void Border::learn_nodes(Strand& strand) {
  const SyncedKind& kind = sides("Node").kind;
  kube::Informer* copy = sides("Node").host.get();
  if (copy == nullptr || !copy->options().label_selector.empty()) {
    host_nodes_ = std::make_unique<kube::Informer>(
        strand, host.client,
        kube::InformerOptions{
            .resource = kind.resource, .trim = leave_node_names, .clock = options.clock, .random = options.random});
    copy = host_nodes_.get();
  }
  copy->add_handler([this](const kube::CachedPtr& before, const kube::CachedPtr& after) {
    NodeNames& names = *options.context.node_names;
    if (!after) return names.note_gone(before->name);
    names.know(host_node(*after));
    for (const std::string& pod : pods.awaited_claims.take(queue_key("Node", "", names.to_tenant(after->name))))
      queue.add(pod);
  });
  // Pods may be bound before the informer has their Node.
  sides("Pod").host->add_handler([this](const kube::CachedPtr&, const kube::CachedPtr& after) {
    if (after) options.context.node_names->meet(after->text({"spec", "nodeName"}));
  });
}

std::vector<kube::Informer*> Border::informers() const {
  std::vector<kube::Informer*> all;
  for (const KindSides& one : kinds_)
    for (kube::Informer* copy : {one.tenant.get(), one.host.get()})
      if (copy) all.push_back(copy);
  if (tenant_namespaces_) all.push_back(tenant_namespaces_.get());
  if (host_nodes_) all.push_back(host_nodes_.get());
  return all;
}

kube::CachedPtr Border::carried(const KindSides& sides, std::string_view tenant_namespace,
                                std::string_view tenant_name) {
  auto object = sides.tenant->get(tenant_namespace, tenant_name);
  write_for(sides.kind.resource, tenant_namespace, tenant_name, object.get());
  return object;
}

bool Border::is_used(std::string_view key) const {
  return std::ranges::any_of(kinds_, [&](const KindSides& one) {
    return one.tenant && one.kind.uses_others && !one.tenant->by_index(kUsesIndex, key).empty();
  });
}

Border::~Border() { stop_informers(); }

void Border::stop_informers() {
  for (kube::Informer* copy : informers()) copy->stop();
}

const KindSides* Border::sides_of_key(std::string_view kind) const {
  for (const KindSides& one : kinds_)
    if (one.kind.kind == kind) return &one;
  return nullptr;
}

const KindSides& Border::sides(std::string_view kind) const {
  const KindSides* found = sides_of_key(kind);
  assert(found != nullptr);
  return *found;
}

void Border::enqueue(std::string_view kind, const kube::CachedObject& object) {
  queue.add(queue_key(kind, object.namespace_name, object.name));
}

int Border::lane_of(std::string_view key) const {
  KeyParts parts = split_key(key);
  if (parts.kind.starts_with(kPast)) parts.kind.remove_prefix(kPast.size());
  const KindSides* found = sides_of_key(parts.kind);
  return found && found->kind.lane ? found->kind.lane(*this, *found, parts.namespace_name, parts.name) : 0;
}

bool is_ours(const Border& border, const Value& host_object) {
  return host_object["metadata"]["labels"][kLabelTenantUid].text() == border.context().virtual_cluster_uid;
}

bool has_lost_label(const Border& border, const Value& host_object, const TenantIdentity& owner) {
  const Value labels = host_object["metadata"]["labels"];
  const std::string_view managed_by = labels[kLabelManagedBy].text();
  const TenantIdentity recorded = tenant_identity(host_object);
  return labels[kLabelTenantUid].missing() && !owner.uid.empty() && recorded.uid == owner.uid &&
         (managed_by.empty() || managed_by == border.context().virtual_cluster);
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
  ++border.tenant.writes;
  const auto removed = border.tenant.client.remove(resource, tenant_object.namespace_name, tenant_object.name, options);
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
  const auto created = border.tenant.client.create(kEvents, namespace_name, event.root());
  ++border.tenant.writes;
  if (created) return;
  if (created.error().is(Reason::already_exists)) {
    const auto existing = border.tenant.client.get(kEvents, namespace_name, name);
    if (!existing) return;
    Document patch = Document::object();
    patch.root().put("count", existing->root()["count"].integer(1) + 1);
    patch.root().put("lastTimestamp", format_time(border.clock.now()));
    if (border.tenant.client.patch(kEvents, namespace_name, name, kube::PatchType::merge, patch.to_json())) return;
  }
  log::warning("syncer.event_not_written",
               {{"object", object_name}, {"reason", reason}, {"cause", created.error().message}});
}

}  // namespace sublet::syncer
