#include "controllers/endpoints/slice_plan.h"

#include <algorithm>
#include <map>

#include "controllers/endpoints/pod_endpoint.h"
#include "controllers/runtime/object_ref.h"

namespace sublet::controllers {
namespace {

using schema::Document;
using schema::Value;

/// Endpoints that a group of slices should hold, in the order in which they came.
struct WantedEndpoints {
  Document ports = Document();                   // an array
  std::vector<Document> endpoints = {};          // moved away once they have a place
  std::map<std::string, std::size_t> open = {};  // identity: which of them has none yet
};

bool prefers_close(const Value& service) {
  const auto distribution = service["spec"]["trafficDistribution"].text();
  return distribution == "PreferClose" || distribution == "PreferSameZone" || distribution == "PreferSameNode";
}

void put_hints(Value endpoint, const Value& service) {
  if (!prefers_close(service) || !endpoint["conditions"]["ready"].boolean()) return;
  if (const auto zone = endpoint["zone"]; zone)
    endpoint.object("hints").array("forZones").push_object().put("name", zone.text());
  const bool same_node = service["spec"]["trafficDistribution"].text() == "PreferSameNode";
  if (const auto node = endpoint["nodeName"]; node && same_node)
    endpoint.object("hints").array("forNodes").push_object().put("name", node.text());
}

Document make_endpoint(const Value& pod, const Value& service, const std::vector<std::string>& addresses,
                       const ZoneOf& zone_of) {
  auto made = Document::object();
  auto root = made.root();
  for (const auto& address : addresses) root.array("addresses").push(address);
  const bool serving = is_ready(pod), ending = pod["metadata"].has("deletionTimestamp");
  auto conditions = root.object("conditions");
  conditions.put("ready", service["spec"]["publishNotReadyAddresses"].boolean() || (serving && !ending));
  conditions.put("serving", serving);
  conditions.put("terminating", ending);
  if (has_own_name(pod, service)) root.put("hostname", pod["spec"]["hostname"].text());
  auto target = root.object("targetRef");
  target.put("kind", "Pod");
  for (auto member : {"namespace", "name", "uid"}) target.put(member, pod["metadata"][member].text());
  if (const auto node = pod["spec"]["nodeName"].text(); !node.empty()) {
    root.put("nodeName", node);
    if (auto zone = zone_of(node); !zone.empty()) root.put("zone", zone);
  }
  put_hints(root, service);
  return made;
}

Document ports_of_pod(const Value& pod, const Value& service) {
  Document ports;
  ports.root().make_array();
  for (Value service_port : service["spec"]["ports"]) {
    const auto number = find_port(pod, service_port);
    if (!number) continue;
    auto port = ports.root().push_object();
    port.put("name", service_port["name"].text());
    port.put("port", *number);
    port.put("protocol", service_port["protocol"].text("TCP"));
    if (const auto protocol = service_port["appProtocol"]; protocol) port.put("appProtocol", protocol);
  }
  return ports;
}

std::map<std::string, WantedEndpoints> wanted_endpoints(const Value& service, const std::vector<Document>& pods,
                                                        const ZoneOf& zone_of, std::string_view family) {
  std::map<std::string, WantedEndpoints> groups;
  for (const auto& pod : pods) {
    if (!belongs_in_endpoints(pod.root(), true)) continue;
    auto ports = ports_of_pod(pod.root(), service);
    auto& group = groups[ports_identity(ports.root())];
    group.ports = std::move(ports);
    const auto addresses = addresses_of(pod.root(), family);
    if (addresses.empty()) continue;
    auto endpoint = make_endpoint(pod.root(), service, addresses, zone_of);
    if (group.open.emplace(endpoint_identity(endpoint.root()), group.endpoints.size()).second)
      group.endpoints.push_back(std::move(endpoint));
  }
  return groups;
}

bool is_reserved(std::string_view label) {
  return label == kServiceNameLabel || label == kSliceManagedByLabel || label == kHeadlessLabel;
}

/// The labels that the Service's slices should have. False when those of `slice` are others.
bool slice_labels(const Value& service, const Value& slice, Document& labels) {
  labels = Document::object();
  auto root = labels.root();
  bool same = true;
  std::size_t own = 0, theirs = 0;
  for (Value label : service["metadata"]["labels"]) {
    if (is_reserved(label.key())) continue;
    root.put(label.key(), label.text());
    same &= slice["metadata"]["labels"][label.key()].text("\n") == label.text();
    ++own;
  }
  for (Value label : slice["metadata"]["labels"]) theirs += is_reserved(label.key()) ? 0 : 1;
  if (is_headless(service)) root.put(kHeadlessLabel, "");
  root.put(kServiceNameLabel, service["metadata"]["name"].text());
  root.put(kSliceManagedByLabel, kSliceController);
  return same && own == theirs;
}

Document make_service_slice(const Value& service, std::string_view family, const Value& ports) {
  auto made = Document::object();
  auto root = made.root();
  auto metadata = root.object("metadata");
  metadata.put("generateName", slice_name_prefix(service["metadata"]["name"].text()));
  metadata.put("namespace", service["metadata"]["namespace"].text());
  Document labels;
  slice_labels(service, {}, labels);
  metadata.put("labels", labels.root());
  auto owner = metadata.array("ownerReferences").push_object();
  owner.put("apiVersion", "v1");
  owner.put("kind", "Service");
  owner.put("name", service["metadata"]["name"].text());
  owner.put("uid", service["metadata"]["uid"].text());
  owner.put("controller", true);
  owner.put("blockOwnerDeletion", true);
  root.put("addressType", family);
  ports ? root.put("ports", ports) : root.array("ports");
  root.array("endpoints");
  return made;
}

bool is_owned_by(const Value& slice, const Value& service) {
  for (Value owner : slice["metadata"]["ownerReferences"])
    if (owner["uid"].text() == service["metadata"]["uid"].text() && owner["kind"].text() == "Service") return true;
  return false;
}

/// A slice on its way: what it was, and what it will be.
struct Draft {
  Document slice;
  enum class Fate { same, changed, gone } fate = Fate::same;
  std::size_t size() const { return slice["endpoints"].size(); }
  void take(WantedEndpoints& wanted, std::map<std::string, std::size_t>::iterator which) {
    slice.root().array("endpoints").push(wanted.endpoints[which->second].root());
    wanted.open.erase(which);
  }
  void fill(WantedEndpoints& wanted, std::size_t max) {
    std::map<std::size_t, std::string> in_order;
    for (const auto& [identity, index] : wanted.open) in_order.emplace(index, identity);
    for (const auto& [index, identity] : in_order) {
      if (size() >= max) return;
      take(wanted, wanted.open.find(identity));
    }
  }
};

/// What is no longer wanted goes from the slice, what is wanted is brought up to date.
void keep_wanted(Draft& draft, WantedEndpoints& wanted, const Value& service) {
  const auto old = Document::copy_of(draft.slice["endpoints"]);
  auto endpoints = draft.slice.root().array("endpoints");
  endpoints.clear();
  bool changed = false;
  for (Value endpoint : old.root()) {
    const auto found = wanted.open.find(endpoint_identity(endpoint));
    if (found == wanted.open.end()) {
      changed = true;
      continue;
    }
    changed |= !endpoint.equals(wanted.endpoints[found->second].root());
    draft.take(wanted, found);
  }
  Document labels;
  const bool same_labels = slice_labels(service, draft.slice.root(), labels);
  if (!changed && same_labels) return;
  draft.fate = changed && endpoints.empty() ? Draft::Fate::gone : Draft::Fate::changed;
  draft.slice["metadata"].put("labels", labels.root());
}

/// The slice that these endpoints fill best, if they fit in one.
Draft* best_fit(std::vector<Draft>& drafts, std::size_t count, std::size_t max) {
  Draft* best = nullptr;
  for (auto& draft : drafts)
    if (draft.fate == Draft::Fate::same && draft.size() + count <= max && (!best || draft.size() > best->size()))
      best = &draft;
  return best;
}

void plan_group(SlicePlan& plan, const Value& service, std::string_view family, WantedEndpoints& wanted,
                const std::vector<const Document*>& slices, std::size_t max) {
  std::vector<Draft> drafts;
  for (const auto* slice : slices) {
    drafts.push_back({slice->clone()});
    keep_wanted(drafts.back(), wanted, service);
  }
  std::vector<Draft*> changing;
  for (auto& draft : drafts)
    if (draft.fate == Draft::Fate::changed) changing.push_back(&draft);
  std::stable_sort(changing.begin(), changing.end(), [](auto* a, auto* b) { return a->size() > b->size(); });
  for (auto* draft : changing) draft->fill(wanted, max);
  if (!wanted.open.empty() && wanted.open.size() < max)
    if (auto* draft = best_fit(drafts, wanted.open.size(), max)) {
      draft->fate = Draft::Fate::changed;
      draft->fill(wanted, max);
    }
  while (!wanted.open.empty()) {
    Draft fresh{make_service_slice(service, family, wanted.ports.root())};
    fresh.fill(wanted, max);
    plan.creates.push_back(std::move(fresh.slice));
  }
  for (auto& draft : drafts) {
    if (draft.fate == Draft::Fate::changed)
      plan.updates.push_back(std::move(draft.slice));
    else if (draft.fate == Draft::Fate::gone)
      plan.removals.push_back(draft.slice["metadata"]["name"].string());
  }
}

const Document* slice_named(const std::vector<Document>& slices, std::string_view name) {
  for (const auto& slice : slices)
    if (slice["metadata"]["name"].text() == name) return &slice;
  return nullptr;
}

bool is_placeholder(const Value& slice, const Value& service) {
  Document labels;
  return slice["endpoints"].empty() && slice["ports"].empty() && slice_labels(service, slice, labels) &&
         slice["metadata"]["labels"].equals(labels.root());
}

/// A Service without any endpoint still has a slice.
void add_placeholder(SlicePlan& plan, const Value& service, std::string_view family,
                     const std::vector<const Document*>& slices) {
  if (!plan.creates.empty() || slices.size() != plan.removals.size()) return;
  if (slices.size() == 1 && is_placeholder(slices.front()->root(), service) &&
      is_owned_by(slices.front()->root(), service))
    return plan.removals.clear();
  plan.creates.push_back(make_service_slice(service, family, {}));
}

SlicePlan plan_family(const Value& service, const std::vector<Document>& pods, const ZoneOf& zone_of,
                      const std::vector<const Document*>& slices, std::string_view family, std::size_t max) {
  SlicePlan plan;
  auto groups = wanted_endpoints(service, pods, zone_of, family);
  std::map<std::string, std::vector<const Document*>> by_ports;
  for (const auto* slice : slices) {
    const auto ports = ports_identity((*slice)["ports"]);
    if (is_owned_by(slice->root(), service) && groups.contains(ports))
      by_ports[ports].push_back(slice);
    else
      plan.removals.push_back((*slice)["metadata"]["name"].string());
  }
  for (auto& [ports, wanted] : groups) plan_group(plan, service, family, wanted, by_ports[ports], max);
  add_placeholder(plan, service, family, slices);
  return plan;
}

template <class T>
void append(std::vector<T>& to, std::vector<T>& from) {
  std::move(from.begin(), from.end(), std::back_inserter(to));
}

}  // namespace

std::string endpoint_identity(const Value& endpoint) {
  std::vector<std::string> addresses;
  for (Value address : endpoint["addresses"]) addresses.push_back(address.string());
  std::sort(addresses.begin(), addresses.end());
  std::string identity;
  for (const auto& address : addresses) identity += address + ' ';
  return identity.append(endpoint["hostname"].text())
      .append(" ")
      .append(endpoint["targetRef"]["namespace"].text())
      .append("/")
      .append(endpoint["targetRef"]["name"].text());
}

std::string ports_identity(const Value& ports) {
  std::vector<std::string> texts;
  for (Value port : ports)
    texts.push_back(port["name"].string() + '/' + std::to_string(port["port"].integer(-1)) + '/' +
                    port["protocol"].string() + '/' + port["appProtocol"].string());
  std::sort(texts.begin(), texts.end());
  std::string identity;
  for (const auto& text : texts) identity += text + ' ';
  return identity;
}

std::string slice_name_prefix(std::string_view name) {
  return std::string(name).append(name.size() < kObjectNameMax ? "-" : "");
}

void reuse_slices(SlicePlan& plan, const std::vector<Document>& slices,
                  const std::function<bool(const Value& slice)>& usable) {
  std::erase_if(plan.removals, [&](const std::string& name) {
    const auto* slice = slice_named(slices, name);
    if (!slice || !usable(slice->root())) return false;
    const auto fitting = std::find_if(plan.creates.begin(), plan.creates.end(), [&](const Document& candidate) {
      return candidate["addressType"].text() == (*slice)["addressType"].text();
    });
    if (fitting == plan.creates.end()) return false;
    auto metadata = (*fitting)["metadata"];
    metadata.put("name", name);
    metadata.put("resourceVersion", (*slice)["metadata"]["resourceVersion"].text());
    plan.updates.push_back(std::move(*fitting));
    plan.creates.erase(fitting);
    return true;
  });
}

SlicePlan plan_slices(const Value& service, const std::vector<Document>& pods, const ZoneOf& zone_of,
                      const std::vector<Document>& slices, std::size_t endpoints_max) {
  SlicePlan plan;
  const auto families = families_of(service);
  for (const auto& slice : slices)
    if (std::find(families.begin(), families.end(), slice["addressType"].text()) == families.end())
      plan.removals.push_back(slice["metadata"]["name"].string());
  for (const auto& family : families) {
    std::vector<const Document*> of_family;
    for (const auto& slice : slices)
      if (slice["addressType"].text() == family) of_family.push_back(&slice);
    auto part = plan_family(service, pods, zone_of, of_family, family, endpoints_max);
    append(plan.creates, part.creates);
    append(plan.updates, part.updates);
    append(plan.removals, part.removals);
  }
  reuse_slices(plan, slices, [&](const Value& slice) { return is_owned_by(slice, service); });
  return plan;
}

}  // namespace sublet::controllers
