// Nodes in what crosses: the names by which tenants choose them become the host's, and those that come back the
// tenant's (NodeNames). Map: to the host, to the tenant.
#include "sublet/syncer/node_names.h"
#include "syncer/translate/rewrites.h"

namespace sublet::syncer {

using schema::Value;

namespace {

constexpr std::string_view kRequiredTerms =
    "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms";

void say(Value field, const std::string& text) {
  if (field.is_string() && field.text() != text) field.set(text);
}

}  // namespace

// --- to the host -----------------------------------------------------------------------------------------------------

void find_chosen_nodes(Translation& translation, Value, Value labels) {
  for (const Value label : labels) say(label, translation.nodes().value_to_host(label.key(), label.text()));
}

void find_required_nodes(Translation& translation, Value requirement, Value values) {
  const NodeNames& nodes = translation.nodes();
  const std::string key = requirement["key"].string();
  for (const Value value : values) say(value, nodes.value_to_host(key, value.text()));
  // Names are compared as numbers: a pseudo name is none, so that nothing is above or below, and the host's, which may
  // be numbers, are not to be found out by halves.
  const std::string_view compared = requirement["operator"].text();
  if (!nodes.are_pseudo() || !NodeNames::names_nodes(key) || (compared != "Gt" && compared != "Lt")) return;
  requirement.put("operator", "In");
}

void find_named_value(Translation& translation, Value, Value field) {
  say(field, translation.nodes().value_to_host("", field.text()));
}

namespace {

// Of a list of requirements; "": none of them says so.
std::string one_name(const Value& requirements, std::string_view key) {
  for (const Value one : requirements)
    if (one["key"].text() == key && one["operator"].text() == "In" && one["values"].size() == 1)
      return one["values"].at(0).string();
  return {};
}

}  // namespace

std::string only_node(const Value& tenant_pod) {
  const Value spec = tenant_pod["spec"];
  if (const std::string bound = spec["nodeName"].string(); !bound.empty()) return bound;
  if (const std::string chosen = spec["nodeSelector"][kHostnameLabel].string(); !chosen.empty()) return chosen;
  const Value terms = spec.path(kRequiredTerms);
  if (terms.size() != 1) return {};
  const std::string by_field = one_name(terms.at(0)["matchFields"], "metadata.name");
  return by_field.empty() ? one_name(terms.at(0)["matchExpressions"], kHostnameLabel) : by_field;
}

namespace {

// Whether some known node can be meant by every requirement of the term that names nodes; puts down the other names.
bool can_be_met(const NodeNames& nodes, const Value& term, std::vector<std::string>& missing) {
  bool met = true;
  for (const std::string_view list : {"matchFields", "matchExpressions"})
    for (const Value one : term[list]) {
      if (!NodeNames::names_nodes(one["key"].text()) || one["operator"].text() != "In") continue;
      bool any = false;
      for (const Value name : one["values"]) {
        const bool known = nodes.is_known(name.text());
        any = any || known;
        if (!known) missing.push_back(name.string());
      }
      met = met && any;
    }
  return met;
}

}  // namespace

std::vector<std::string> missing_nodes(const TranslateContext& context, const Value& tenant_pod) {
  const NodeNames& nodes = node_names_of(context);
  const Value spec = tenant_pod["spec"];
  const std::string chosen = spec["nodeSelector"][kHostnameLabel].string();
  if (!chosen.empty() && !nodes.is_known(chosen)) return {chosen};
  std::vector<std::string> missing;
  for (const Value term : spec.path(kRequiredTerms))
    if (can_be_met(nodes, term, missing)) return {};
  return missing;
}

// --- to the tenant ---------------------------------------------------------------------------------------------------

void name_node(Translation& translation, Value, Value field) {
  say(field, translation.nodes().to_tenant(field.text()));
}

void name_object_of_node(Translation& translation, Value, Value field) {
  say(field, translation.nodes().object_to_tenant(field.text()));
}

void hide_nodes_in_value(Translation& translation, Value, Value field) {
  say(field, translation.nodes().value_to_tenant(field.text()));
  for (const Value one : field) say(one, translation.nodes().value_to_tenant(one.text()));
}

void hide_nodes_in_labels(Translation& translation, Value, Value field) {
  const NodeNames& nodes = translation.nodes();
  field.retain([&](const Value& label) { return nodes.value_to_tenant(label.key()) == label.key(); });
  for (const Value label : field) say(label, nodes.value_to_tenant(label.text()));
}

void hide_nodes_in_text(Translation& translation, Value, Value field) {
  say(field, translation.nodes().in_text(field.text()));
}

void hide_reporter(Translation& translation, Value parent, Value field) {
  const NodeNames& nodes = translation.nodes();
  if (!nodes.are_pseudo() || field.text().empty()) return;
  const std::string component = parent["reportingComponent"].string();
  say(field, component == "kubelet" ? nodes.to_tenant(field.text()) : nodes.in_text(component));
}

void hide_node_addresses(Translation& translation, Value, Value field) {
  const NodeNames& nodes = translation.nodes();
  if (!nodes.are_pseudo()) return;
  field.retain([](const Value& address) { return address["type"].text() == "Hostname"; });
}

void hide_node_id(Translation& translation, Value, Value field) {
  if (translation.nodes().are_pseudo()) say(field, "hidden");
}

void leave_out_where_hidden(Translation& translation, Value parent, Value field) {
  if (translation.nodes().are_pseudo()) parent.erase(field.key());
}

void name_in_node(Translation& translation, Value node) {
  const NodeNames& nodes = translation.nodes();
  if (!nodes.are_pseudo()) return;
  const std::string name = nodes.to_tenant(node["metadata"]["name"].text());
  say(node["metadata"]["labels"][kHostnameLabel], name);
  for (const Value address : node["status"]["addresses"])
    if (address["type"].text() == "Hostname") say(address["address"], name);
}

}  // namespace sublet::syncer
