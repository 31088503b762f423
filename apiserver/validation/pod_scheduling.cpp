#include <algorithm>
#include <map>
#include <set>

#include "apiserver/validation/names.h"
#include "apiserver/validation/pod_spec.h"
#include "sublet/base/text.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

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

void validate_label_keys(Causes& causes, const std::string& path, const Value& keys, const Value& selector) {
  if (keys.empty()) return;
  if (!selector) return forbidden(causes, path, "must not be specified when labelSelector is not set");
  std::size_t index = 0;
  for (auto key : keys) invalid_each(causes, item(path, index++), key.text(), qualified_name(key.text()));
}

/// A key by which pods are to be matched is in the selector only once: as itself or, of a Pod, with the Pod's own
/// label. The path is upstream's: it counts the keys where it names the term.
void validate_repeated_keys(Causes& causes, const std::string& path, const Value& keys, const Value& selector,
                            const Value& labels) {
  std::map<std::string_view, std::size_t> places;
  std::size_t place = 0;
  for (auto key : keys) places[key.text()] = place++;
  std::set<std::string_view> met;
  const auto meet = [&](std::string_view key) {
    if (!met.contains(key) || !places.contains(key)) return;
    invalid(causes, item(path, places[key]), key, "exists in both matchLabelKeys and labelSelector");
  };
  for (auto label : selector["matchLabels"]) met.insert(label.key());
  for (auto expression : selector["matchExpressions"]) {
    meet(expression["key"].text());
    met.insert(expression["key"].text());
  }
  for (auto key : keys)
    if (labels.has(key.text())) meet(key.text());
}

void validate_match_keys(Causes& causes, const std::string& path, const Value& term, const Value& labels) {
  const auto keys = term["matchLabelKeys"], others = term["mismatchLabelKeys"], selector = term["labelSelector"];
  if (keys.empty() && others.empty()) return;
  validate_label_keys(causes, child(path, "matchLabelKeys"), keys, selector);
  validate_label_keys(causes, child(path, "mismatchLabelKeys"), others, selector);
  if (selector) validate_repeated_keys(causes, path, keys, selector, labels);
  std::size_t index = 0;
  for (auto key : keys) {
    const auto at = item(child(path, "matchLabelKeys"), index++);
    bool both = false;
    for (auto other : others) both |= other.text() == key.text();
    if (both) invalid(causes, at, key.text(), "exists in both matchLabelKeys and mismatchLabelKeys");
  }
}

void validate_pod_term(Causes& causes, const std::string& path, const Value& term, const Value& labels) {
  validate_match_keys(causes, path, term, labels);
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

void validate_affinity(Causes& causes, const std::string& path, const Value& affinity, const Value& labels) {
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
    for (auto term : terms[kRequired]) validate_pod_term(causes, item(child(at, kRequired), index++), term, labels);
    index = 0;
    for (auto term : terms[kPreferred]) {
      std::string term_path = item(child(at, kPreferred), index++);
      validate_weight(causes, term_path, term);
      validate_pod_term(causes, child(term_path, "podAffinityTerm"), term["podAffinityTerm"], labels);
    }
  }
}

namespace {

/// Whether `terms` begins with all that `old` has, and has nothing where that had nothing.
bool has_only_additions(const Value& term, const Value& old) {
  constexpr std::string_view kLists[] = {"matchExpressions", "matchFields"};
  if (old[kLists[0]].empty() && old[kLists[1]].empty() && !(term[kLists[0]].empty() && term[kLists[1]].empty()))
    return false;
  for (auto list : kLists) {
    if (term[list].size() < old[list].size()) return false;
    for (std::size_t i = 0; i < old[list].size(); ++i)
      if (!semantically_equal(term[list].at(i), old[list].at(i))) return false;
  }
  return true;
}

}  // namespace

void validate_node_affinity_update(Causes& causes, const std::string& path, const Value& affinity, const Value& old) {
  const auto before = old[kRequired]["nodeSelectorTerms"], terms = affinity[kRequired]["nodeSelectorTerms"];
  if (before.empty() || semantically_equal(affinity, old)) return;
  const auto at = child(child(path, kRequired), "nodeSelectorTerms");
  if (terms.size() != before.size())
    return invalid(causes, at, terms ? BadValue(terms) : BadValue::raw("null"),
                   "no additions/deletions to non-empty NodeSelectorTerms list are allowed");
  for (std::size_t i = 0; i < before.size(); ++i)
    if (!has_only_additions(terms.at(i), before.at(i)))
      invalid(causes, item(at, i), terms.at(i), "only additions are allowed (no mutations or deletions)");
}

constexpr std::string_view kSpreadActions[] = {"DoNotSchedule", "ScheduleAnyway"};

void validate_topology_spread(Causes& causes, const std::string& path, const Value& constraints, const Value& labels) {
  std::map<std::pair<std::string_view, std::string_view>, std::size_t> to_come;  // of the same key and action
  for (auto constraint : constraints)
    ++to_come[{constraint["topologyKey"].text(), constraint["whenUnsatisfiable"].text()}];
  std::size_t index = 0;
  for (auto constraint : constraints) {
    std::string at = item(path, index++);
    if (constraint["maxSkew"].integer() <= 0)
      invalid(causes, child(at, "maxSkew"), constraint["maxSkew"].integer(), "must be greater than zero");
    auto key = constraint["topologyKey"].text();
    if (key.empty()) required(causes, child(at, "topologyKey"), "can not be empty");
    auto action = constraint["whenUnsatisfiable"].text();
    if (action.empty()) not_supported(causes, child(at, "whenUnsatisfiable"), action, kSpreadActions);
    if (--to_come[{key, action}] > 0)
      duplicate(causes, child(at, "{topologyKey, whenUnsatisfiable}"),
                "{" + std::string(key) + ", " + std::string(action) + "}");
    if (auto domains = constraint["minDomains"]) {
      if (domains.integer() <= 0) invalid(causes, child(at, "minDomains"), domains, "must be greater than zero");
      if (action != "DoNotSchedule")
        invalid(causes, child(at, "minDomains"), domains,
                "can only use minDomains if whenUnsatisfiable=DoNotSchedule, not " + std::string(action));
    }
    validate_match_keys(causes, at, constraint, labels);
    validate_label_selector(causes, child(at, "labelSelector"), constraint["labelSelector"]);
  }
}

}  // namespace sublet::apiserver
