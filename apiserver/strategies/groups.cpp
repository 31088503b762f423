// scheduling.k8s.io/v1alpha2: PodGroup and Workload, which are served where they are asked for. As upstream's with the
// gates GenericWorkload, TopologyAwareWorkloadScheduling, DRAWorkloadResourceClaims and WorkloadAwarePreemption on: the
// host's are what counts in the end, and the tenant gets events about what the host does not keep
// (syncer/to_host/host_object.cpp). Source: pkg/apis/scheduling/v1alpha2/zz_generated.validations.go of Kubernetes.
#include <algorithm>
#include <array>
#include <set>

#include "apiserver/request/api_groups.h"
#include "apiserver/strategies/kind_facts.h"
#include "apiserver/validation/names.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

constexpr std::size_t kTemplatesMax = 8, kClaimsMax = 4, kTopologyMax = 1;
constexpr std::int64_t kPriorityMax = 1'000'000'000;
constexpr std::array<std::string_view, 2> kDisruptionModes{"Pod", "PodGroup"};

/// A pointer without omitempty is stored as null.
bool is_given(const Value& value) { return value && !value.is_null(); }

void default_group(Value group) {
  Value spec = group.object("spec");
  if (!is_given(spec["disruptionMode"])) spec.put("disruptionMode", "Pod");
}

/// Exactly one of some members is there.
void validate_union(Causes& causes, const std::string& field, const Value& object,
                    std::initializer_list<std::string_view> members) {
  std::string all, given;
  std::size_t count = 0;
  for (const std::string_view member : members) {
    all.append(all.empty() ? "`" : ", `").append(member).append("`");
    if (!is_given(object[member])) continue;
    given.append(given.empty() ? "" : ", ").append(member);
    ++count;
  }
  if (count == 0) invalid(causes, field, "", "must specify one of: " + all);
  if (count > 1) invalid(causes, field, "{" + given + "}", "must specify exactly one of: " + all);
}

/// Of a list that is a map by `name`.
void validate_unique(Causes& causes, const std::string& field, const Value& list) {
  std::set<std::string_view> names;
  std::size_t index = 0;
  for (const Value entry : list) {
    const std::string at = item(field, index++);
    if (!names.insert(entry["name"].text()).second) duplicate(causes, at, entry);
  }
}

void validate_required_name(Causes& causes, const std::string& field, const Value& name,
                            Messages (*rule)(std::string_view)) {
  if (name.text().empty()) return required(causes, field);
  invalid_each(causes, field, name.text(), rule(name.text()));
}

void validate_policy(Causes& causes, const std::string& path, const Value& policy) {
  validate_union(causes, path, policy, {"basic", "gang"});
  if (!is_given(policy["gang"])) return;
  const std::string field = child(path, "gang.minCount");
  const std::int64_t count = policy["gang"]["minCount"].integer();
  if (count == 0)
    required(causes, field);
  else if (count < 1)
    invalid(causes, field, count, "must be greater than or equal to 1");
}

void validate_topology_constraints(Causes& causes, const std::string& path, const Value& constraints) {
  const std::string field = child(path, "topology");
  if (!is_bounded(causes, field, constraints["topology"], kTopologyMax)) return;
  std::size_t index = 0;
  for (const Value one : constraints["topology"])
    validate_required_name(causes, child(item(field, index++), "key"), one["key"], qualified_name);
}

void validate_claims(Causes& causes, const std::string& path, const Value& claims) {
  if (!is_bounded(causes, path, claims, kClaimsMax)) return;
  validate_unique(causes, path, claims);
  std::size_t index = 0;
  for (const Value claim : claims) {
    const std::string at = item(path, index++);
    validate_union(causes, at, claim, {"resourceClaimName", "resourceClaimTemplateName"});
    validate_required_name(causes, child(at, "name"), claim["name"], dns1123_label);
    for (const char* field : {"resourceClaimName", "resourceClaimTemplateName"})
      if (is_given(claim[field]))
        invalid_each(causes, child(at, field), claim[field].text(), dns1123_subdomain(claim[field].text()));
  }
}

/// What a group and the template of groups have alike, from schedulingPolicy on.
void validate_like_group(Causes& causes, const std::string& path, const Value& spec) {
  validate_policy(causes, child(path, "schedulingPolicy"), spec["schedulingPolicy"]);
  validate_topology_constraints(causes, child(path, "schedulingConstraints"), spec["schedulingConstraints"]);
  validate_claims(causes, child(path, "resourceClaims"), spec["resourceClaims"]);
  const Value mode = spec["disruptionMode"];
  if (is_given(mode) && std::ranges::find(kDisruptionModes, mode.text()) == kDisruptionModes.end())
    not_supported(causes, child(path, "disruptionMode"), mode.text(), kDisruptionModes);
  if (const auto name = spec["priorityClassName"].text(); !name.empty())
    invalid_each(causes, child(path, "priorityClassName"), name, dns1123_subdomain(name));
  if (const std::int64_t priority = spec["priority"].integer(); priority > kPriorityMax)
    invalid(causes, child(path, "priority"), priority, "must be less than or equal to " + std::to_string(kPriorityMax));
}

void validate_group(const Value& group, Causes& causes) {
  const Value spec = group["spec"], reference = spec["podGroupTemplateRef"];
  if (reference.is_object()) {
    const std::string at = "spec.podGroupTemplateRef";
    validate_union(causes, at, reference, {"workload"});
    if (const Value workload = reference["workload"]; workload.is_object()) {
      validate_required_name(causes, at + ".workload.workloadName", workload["workloadName"], dns1123_subdomain);
      validate_required_name(causes, at + ".workload.podGroupTemplateName", workload["podGroupTemplateName"],
                             dns1123_label);
    }
  }
  validate_like_group(causes, "spec", spec);
}

void validate_workload(const Value& workload, Causes& causes) {
  const Value spec = workload["spec"], owner = spec["controllerRef"], templates = spec["podGroupTemplates"];
  if (owner.is_object()) {
    const std::string at = "spec.controllerRef";
    if (const auto group = owner["apiGroup"].text(); !group.empty())
      invalid_each(causes, at + ".apiGroup", group, dns1123_subdomain(group));
    for (const char* field : {"kind", "name"})
      validate_required_name(causes, child(at, field), owner[field], path_segment_name);
  }
  const std::string field = "spec.podGroupTemplates";
  if (templates.empty()) return required(causes, field);
  if (!is_bounded(causes, field, templates, kTemplatesMax)) return;
  validate_unique(causes, field, templates);
  std::size_t index = 0;
  for (const Value one : templates) {
    const std::string at = item(field, index++);
    validate_required_name(causes, child(at, "name"), one["name"], dns1123_label);
    validate_like_group(causes, at, one);
  }
}

/// Said without the value, as upstream's generated validation does.
void stays(Causes& causes, const Value& spec, const Value& old, std::initializer_list<std::string_view> fields) {
  for (const std::string_view field : fields)
    if (!semantically_equal(spec[field], old[field]))
      invalid(causes, child("spec", field), BadValue::raw("null"), kImmutable);
}

void group_stays(const Value& group, const Value& old, Causes& causes) {
  stays(causes, group["spec"], old["spec"],
        {"podGroupTemplateRef", "schedulingPolicy", "schedulingConstraints", "resourceClaims", "disruptionMode",
         "priorityClassName", "priority"});
}

void workload_stays(const Value& workload, const Value& old, Causes& causes) {
  stays(causes, workload["spec"], old["spec"], {"controllerRef", "podGroupTemplates"});
}

void validate_group_status(const Value& group, const Value& old, Causes& causes) {
  const Value status = group["status"], claims = status["resourceClaimStatuses"];
  validate_conditions(causes, "status.conditions", status["conditions"]);
  const std::string path = "status.resourceClaimStatuses";
  std::size_t index = 0;
  for (const Value claim : claims) {
    const std::string at = child(item(path, index++), "name");
    const bool known = std::ranges::any_of(
        group["spec"]["resourceClaims"], [&](const Value& one) { return one["name"].text() == claim["name"].text(); });
    if (!known) invalid(causes, at, claim["name"].text(), "must match the name of an entry in `spec.resourceClaims`");
  }
  if (semantically_equal(claims, old["status"]["resourceClaimStatuses"]) ||
      !is_bounded(causes, path, claims, kClaimsMax))
    return;
  validate_unique(causes, path, claims);
  index = 0;
  for (const Value claim : claims) {
    const Value name = claim["resourceClaimName"];
    const std::string at = child(item(path, index++), "resourceClaimName");
    if (is_given(name)) invalid_each(causes, at, name.text(), dns1123_subdomain(name.text()));
  }
}

// The functions above report these in upstream's order, or upstream skips them: behind a list that is too long.
bool is_skipped(const Value&, std::string_view field) { return field.starts_with("spec."); }

constexpr KindFacts kGroupKinds[] = {
    {kSchedulingGroup, "podgroups", default_group, kSealsMetadata, NameRule::dns_subdomain, nullptr, group_stays,
     validate_group_status, validate_group, is_skipped},
    {kSchedulingGroup, "workloads", nullptr, 0, NameRule::dns_subdomain, nullptr, workload_stays, nullptr,
     validate_workload, is_skipped}};

}  // namespace

std::vector<Strategy> group_strategies() {
  std::vector<Strategy> rows;
  for (const auto& facts : kGroupKinds) rows.push_back(row_of(facts));
  return rows;
}

}  // namespace sublet::apiserver
