#include "quota/scopes.h"

#include <array>
#include <vector>

#include "sublet/quota/amounts.h"

namespace sublet::quota {
namespace {

using schema::Value;

constexpr std::array<std::string_view, 2> kLists = {"requests", "limits"};

bool asks_for_something(const Value& resources) {
  for (const auto list : kLists)
    for (const auto* name : {"cpu", "memory"})
      if (const Value quantity = resources[list][name]; quantity && amount_of(quantity).nanos > 0) return true;
  return false;
}

bool is_best_effort(const Value& pod) {
  if (const auto said = pod["status"]["qosClass"].text(); !said.empty()) return said == "BestEffort";
  const Value spec = pod["spec"];
  if (has_own_resources(spec)) return !asks_for_something(spec["resources"]);
  for (const auto* list : {"containers", "initContainers"})
    for (const Value container : spec[list])
      if (asks_for_something(container["resources"])) return false;
  return true;
}

bool reaches_other_namespaces(const Value& spec) {
  const auto reaches = [](const Value& term) { return !term["namespaces"].empty() || term.has("namespaceSelector"); };
  for (const auto* kind : {"podAffinity", "podAntiAffinity"}) {
    const Value affinity = spec["affinity"][kind];
    for (const Value term : affinity["requiredDuringSchedulingIgnoredDuringExecution"])
      if (reaches(term)) return true;
    for (const Value term : affinity["preferredDuringSchedulingIgnoredDuringExecution"])
      if (reaches(term["podAffinityTerm"])) return true;
  }
  return false;
}

/// The requirement on one name, as a label selector of upstream's has it; "": the object names none.
bool selects(const Value& requirement, std::string_view name) {
  const auto op = requirement["operator"].text("Exists");
  if (op == "Exists") return !name.empty();
  if (op == "DoesNotExist") return name.empty();
  bool listed = false;
  for (const Value value : requirement["values"]) listed |= value.text() == name;
  return op == "In" ? !name.empty() && listed : name.empty() || !listed;
}

}  // namespace

bool may_be_of_a_pod(std::string_view resource) {
  return resource == "cpu" || resource == "memory" || resource.starts_with("hugepages-");
}

bool has_own_resources(const Value& spec) {
  for (const auto list : kLists)
    for (const Value quantity : spec["resources"][list])
      if (may_be_of_a_pod(quantity.key())) return true;
  return false;
}

bool is_terminating(const Value& pod) { return pod["spec"]["activeDeadlineSeconds"].integer(-1) >= 0; }

bool is_pod_in_scope(std::string_view scope, const Value& requirement, const Value& pod) {
  if (scope == "Terminating") return is_terminating(pod);
  if (scope == "NotTerminating") return !is_terminating(pod);
  if (scope == "BestEffort") return is_best_effort(pod);
  if (scope == "NotBestEffort") return !is_best_effort(pod);
  if (scope == "CrossNamespacePodAffinity") return reaches_other_namespaces(pod["spec"]);
  return scope == "PriorityClass" && selects(requirement, pod["spec"]["priorityClassName"].text());
}

bool is_claim_in_scope(std::string_view scope, const Value& requirement, const Value& claim) {
  if (scope != "VolumeAttributesClass") return false;
  std::vector<std::string_view> names;
  const Value status = claim["status"];
  for (const Value named : {claim["spec"]["volumeAttributesClassName"], status["currentVolumeAttributesClassName"],
                            status["modifyVolumeStatus"]["targetVolumeAttributesClassName"]})
    if (!named.text().empty()) names.push_back(named.text());
  if (names.empty()) return selects(requirement, "");
  for (const auto name : names)
    if (selects(requirement, name)) return true;
  return false;
}

}  // namespace sublet::quota
