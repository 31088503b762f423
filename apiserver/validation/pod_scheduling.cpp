#include <algorithm>
#include <map>

#include "apiserver/validation/names.h"
#include "apiserver/validation/pod_spec.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

std::string join(const Messages& messages, std::string_view separator) {
  std::string result;
  for (const auto& message : messages) {
    if (!result.empty()) result += separator;
    result += message;
  }
  return result;
}

void validate_requirement_values(Causes& causes, const std::string& path, const Value& requirement) {
  auto op = requirement["operator"].text();
  auto count = requirement["values"].size();
  if ((op == "In" || op == "NotIn") && count == 0)
    required(causes, child(path, "values"), "must be specified when `operator` is 'In' or 'NotIn'");
  else if ((op == "Exists" || op == "DoesNotExist") && count > 0)
    forbidden(causes, child(path, "values"), "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
  else if ((op == "Gt" || op == "Lt") && count != 1)
    required(causes, child(path, "values"), "must be specified single value when `operator` is 'Lt' or 'Gt'");
  constexpr std::string_view kOperators[] = {"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"};
  if (std::find(std::begin(kOperators), std::end(kOperators), op) == std::end(kOperators))
    invalid(causes, child(path, "operator"), op, "not a valid selector operator");
}

void validate_field_requirement(Causes& causes, const std::string& path, const Value& requirement) {
  auto op = requirement["operator"].text();
  if (op != "In" && op != "NotIn")
    invalid(causes, child(path, "operator"), op, "not a valid selector operator");
  else if (requirement["values"].size() != 1)
    required(causes, child(path, "values"),
             "must be only one value when `operator` is 'In' or 'NotIn' for node field selector");
  auto key = requirement["key"].text();
  if (key != "metadata.name") return invalid(causes, child(path, "key"), key, "not a valid field selector key");
  std::size_t index = 0;
  for (auto value : requirement["values"])
    invalid_each(causes, item(child(path, "values"), index++), value.text(), dns1123_subdomain(value.text()));
}

void validate_node_term(Causes& causes, const std::string& path, const Value& term, bool check_values) {
  std::size_t index = 0;
  for (auto requirement : term["matchExpressions"]) {
    std::string at = item(child(path, "matchExpressions"), index++);
    validate_requirement_values(causes, at, requirement);
    auto key = requirement["key"].text();
    invalid_each(causes, child(at, "key"), key, qualified_name(key));
    if (!check_values) continue;
    std::size_t value_index = 0;
    for (auto value : requirement["values"])
      invalid_each(causes, item(child(at, "values"), value_index++), value.text(), label_value(value.text()));
  }
  index = 0;
  for (auto requirement : term["matchFields"])
    validate_field_requirement(causes, item(child(path, "matchFields"), index++), requirement);
}

void validate_pod_term(Causes& causes, const std::string& path, const Value& term) {
  validate_label_selector(causes, child(path, "labelSelector"), term["labelSelector"]);
  validate_label_selector(causes, child(path, "namespaceSelector"), term["namespaceSelector"]);
  for (auto name : term["namespaces"])
    invalid_each(causes, child(path, "namespace"), name.text(), dns1123_label(name.text()));
  auto key = term["topologyKey"].text();
  if (key.empty()) required(causes, child(path, "topologyKey"), "can not be empty");
  invalid_each(causes, child(path, "topologyKey"), key, qualified_name(key));
}

void validate_weight(Causes& causes, const std::string& path, const Value& term) {
  auto weight = term["weight"].integer();
  if (weight <= 0 || weight > 100) invalid(causes, child(path, "weight"), weight, "must be in the range 1-100");
}

constexpr std::string_view kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
constexpr std::string_view kPreferred = "preferredDuringSchedulingIgnoredDuringExecution";

}  // namespace

void validate_tolerations(Causes& causes, const std::string& path, const Value& tolerations) {
  constexpr static std::string_view kOperators[] = {"Equal", "Exists"},
                                    kOperatorsWithGate[] = {"Equal", "Exists", "Lt", "Gt"};
  std::size_t index = 0;
  for (auto toleration : tolerations) {
    std::string at = item(path, index++);
    auto key = toleration["key"].text(), op = toleration["operator"].text(), value = toleration["value"].text();
    if (!key.empty()) invalid_each(causes, child(at, "key"), key, qualified_name(key));
    if (key.empty() && op != "Exists")
      invalid(causes, child(at, "operator"), op,
              "operator must be Exists when `key` is empty, which means \"match all values and all keys\"");
    if (toleration.has("tolerationSeconds") && toleration["effect"].text() != "NoExecute")
      invalid(causes, child(at, "effect"), toleration["effect"].text(),
              "effect must be 'NoExecute' when `tolerationSeconds` is set");
    if (op.empty() || op == "Equal") {
      auto messages = label_value(value);
      if (!messages.empty()) invalid(causes, child(at, "operator"), value, join(messages, ";"));
    } else if (op == "Exists" && !value.empty()) {
      invalid(causes, child(at, "operator"), value, "value must be empty when `operator` is 'Exists'");
    } else if (op == "Lt" || op == "Gt") {
      not_supported(causes, child(at, "operator"), op, kOperatorsWithGate);  // upstream's gate is off
    } else if (op != "Exists") {
      not_supported(causes, child(at, "operator"), op, kOperators);
    }
    validate_choice(causes, at, toleration, {"effect", {"NoSchedule", "PreferNoSchedule", "NoExecute"}});
  }
}

void validate_node_selector(Causes& causes, const std::string& path, const Value& selector) {
  std::string terms = child(path, "nodeSelectorTerms");
  if (selector["nodeSelectorTerms"].empty())
    return required(causes, terms, "must have at least one node selector term");
  std::size_t index = 0;
  for (auto term : selector["nodeSelectorTerms"]) validate_node_term(causes, item(terms, index++), term, true);
}

void validate_affinity(Causes& causes, const std::string& path, const Value& affinity) {
  if (auto node = affinity["nodeAffinity"]) {
    std::string at = child(path, "nodeAffinity");
    if (node.has(kRequired)) validate_node_selector(causes, child(at, kRequired), node[kRequired]);
    std::size_t index = 0;
    for (auto term : node[kPreferred]) {
      std::string term_path = item(child(at, kPreferred), index++);
      validate_weight(causes, term_path, term);
      validate_node_term(causes, child(term_path, "preference"), term["preference"], false);
    }
  }
  for (auto kind : {"podAffinity", "podAntiAffinity"}) {
    auto terms = affinity[kind];
    std::string at = child(path, kind);
    std::size_t index = 0;
    for (auto term : terms[kRequired]) validate_pod_term(causes, item(child(at, kRequired), index++), term);
    index = 0;
    for (auto term : terms[kPreferred]) {
      std::string term_path = item(child(at, kPreferred), index++);
      validate_weight(causes, term_path, term);
      validate_pod_term(causes, child(term_path, "podAffinityTerm"), term["podAffinityTerm"]);
    }
  }
}

void validate_topology_spread(Causes& causes, const std::string& path, const Value& constraints) {
  std::map<std::pair<std::string_view, std::string_view>, std::size_t> to_come;  // of the same key and action
  for (auto constraint : constraints)
    ++to_come[{constraint["topologyKey"].text(), constraint["whenUnsatisfiable"].text()}];
  std::size_t index = 0;
  for (auto constraint : constraints) {
    std::string at = item(path, index++);
    if (constraint["maxSkew"].integer() <= 0)
      invalid(causes, child(at, "maxSkew"), constraint["maxSkew"].integer(), "must be greater than zero");
    auto key = constraint["topologyKey"].text();
    if (key.empty())
      required(causes, child(at, "topologyKey"), "can not be empty");
    else
      invalid_each(causes, child(at, "topologyKey"), key, qualified_name(key));
    auto action = constraint["whenUnsatisfiable"].text();
    if (--to_come[{key, action}] > 0)
      duplicate(causes, child(at, "{topologyKey, whenUnsatisfiable}"),
                "{" + std::string(key) + ", " + std::string(action) + "}");
    if (auto domains = constraint["minDomains"]) {
      if (domains.integer() <= 0) invalid(causes, child(at, "minDomains"), domains, "must be greater than zero");
      if (action != "DoNotSchedule")
        invalid(causes, child(at, "minDomains"), domains,
                "can only use minDomains if whenUnsatisfiable=DoNotSchedule, not " + std::string(action));
    }
    validate_label_selector(causes, child(at, "labelSelector"), constraint["labelSelector"]);
  }
}

}  // namespace sublet::apiserver
