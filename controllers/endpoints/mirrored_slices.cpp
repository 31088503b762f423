#include "controllers/endpoints/mirrored_slices.h"

#include <map>

namespace sublet::controllers {
namespace {

using schema::Document;
using schema::Value;

constexpr std::string_view kLastApplied = "kubectl.kubernetes.io/last-applied-configuration";

Document mirrored_ports(const Value& subset) {
  Document ports;
  ports.root().make_array();
  for (Value port : subset["ports"]) {
    auto made = ports.root().push_object();
    made.put("name", port["name"].text());
    made.put("port", port["port"].integer());
    made.put("protocol", port["protocol"].text("TCP"));
    if (const auto protocol = port["appProtocol"]; protocol) made.put("appProtocol", protocol);
  }
  return ports;
}

Document make_mirrored_slice(const Value& endpoints, std::string_view family, const Value& ports) {
  auto made = Document::object();
  auto root = made.root();
  auto metadata = root.object("metadata");
  const auto name = endpoints["metadata"]["name"].text();
  metadata.put("generateName", slice_name_prefix(name));
  metadata.put("namespace", endpoints["metadata"]["namespace"].text());
  auto labels = metadata.object("labels");
  for (Value label : endpoints["metadata"]["labels"]) labels.put(label.key(), label.text());
  labels.put(kServiceNameLabel, name);
  labels.put(kSliceManagedByLabel, kMirroringController);
  for (Value annotation : endpoints["metadata"]["annotations"])
    if (annotation.key() != kTriggerAnnotation && annotation.key() != kLastApplied)
      metadata.object("annotations").put(annotation.key(), annotation.text());
  auto owner = metadata.array("ownerReferences").push_object();
  owner.put("apiVersion", "v1");
  owner.put("kind", "Endpoints");
  owner.put("name", name);
  owner.put("uid", endpoints["metadata"]["uid"].text());
  owner.put("controller", true);
  owner.put("blockOwnerDeletion", true);
  root.put("addressType", family);
  root.put("ports", ports);
  root.array("endpoints");
  return made;
}

void add_endpoint(Value slice, const Value& address, bool ready) {
  auto endpoint = slice.array("endpoints").push_object();
  endpoint.array("addresses").push(address["ip"].text());
  endpoint.object("conditions").put("ready", ready);
  if (const auto hostname = address["hostname"].text(); !hostname.empty()) endpoint.put("hostname", hostname);
  for (auto member : {"targetRef", "nodeName"})
    if (const auto value = address[member]; value) endpoint.put(member, value);
}

using MirroredSlices = std::map<std::string, Document>;  // by family and ports

std::string port_group_of(std::string_view family, const Value& ports) {
  return std::string(family) + ' ' + ports_identity(ports);
}

void add_subset(MirroredSlices& wanted, int& skipped, const Value& endpoints, const Value& subset) {
  const auto ports = mirrored_ports(subset);
  std::size_t added = 0;
  for (const bool ready : {true, false})
    for (Value address : subset[ready ? "addresses" : "notReadyAddresses"]) {
      if (added++ >= kMirroredAddressesMax) {
        ++skipped;
        continue;
      }
      const auto family = address["ip"].text().find(':') == std::string_view::npos ? "IPv4" : "IPv6";
      auto [slice, fresh] = wanted.try_emplace(port_group_of(family, ports.root()));
      if (fresh) slice->second = make_mirrored_slice(endpoints, family, ports.root());
      add_endpoint(slice->second.root(), address, ready);
    }
}

bool same_map(const Value& a, const Value& b) { return a.empty() ? b.empty() : a.equals(b); }

bool says_the_same(const Value& slice, const Value& wanted) {
  const auto &metadata = slice["metadata"], &other = wanted["metadata"];
  return slice["endpoints"].equals(wanted["endpoints"]) && same_map(metadata["labels"], other["labels"]) &&
         same_map(metadata["annotations"], other["annotations"]) &&
         metadata["ownerReferences"].at(0)["uid"].text() == other["ownerReferences"].at(0)["uid"].text();
}

}  // namespace

bool may_be_mirrored(const Value& endpoints) {
  const auto metadata = endpoints["metadata"];
  return metadata["labels"]["endpointslice.kubernetes.io/skip-mirror"].text() != "true" &&
         !metadata["annotations"].has("control-plane.alpha.kubernetes.io/leader");
}

MirrorPlan plan_mirror(const Value& endpoints, const std::vector<Document>& slices) {
  MirrorPlan plan;
  MirroredSlices wanted;
  for (Value subset : endpoints["subsets"]) add_subset(wanted, plan.skipped, endpoints, subset);
  for (const auto& slice : slices) {
    const auto name = slice["metadata"]["name"].string();
    const auto found = wanted.find(port_group_of(slice["addressType"].text(), slice["ports"]));
    if (found == wanted.end()) {
      plan.slices.removals.push_back(name);
      continue;
    }
    auto next = std::move(found->second);
    wanted.erase(found);
    if (says_the_same(slice.root(), next.root())) continue;
    auto metadata = next["metadata"];
    metadata.put("name", name);
    metadata.put("resourceVersion", slice["metadata"]["resourceVersion"].text());
    plan.slices.updates.push_back(std::move(next));
  }
  for (auto& [group, slice] : wanted) plan.slices.creates.push_back(std::move(slice));
  reuse_slices(plan.slices, slices, [](const Value&) { return true; });
  return plan;
}

}  // namespace sublet::controllers
