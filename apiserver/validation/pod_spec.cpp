#include "apiserver/validation/pod_spec.h"

#include <set>

#include "apiserver/request/members.h"
#include "apiserver/validation/names.h"
#include "apiserver/validation/resources.h"

namespace sublet::apiserver {
namespace {

using schema::Document;
using schema::Value;

/// Fields that hold one name each, and the rule for it.
struct NameField {
  std::string_view field;
  Messages (*rule)(std::string_view);
};
constexpr NameField kNameFields[] = {{"serviceAccountName", dns1123_subdomain},
                                     {"nodeName", dns1123_subdomain},
                                     {"hostname", dns1123_label},
                                     {"subdomain", dns1123_label},
                                     {"priorityClassName", dns1123_subdomain},
                                     {"runtimeClassName", dns1123_subdomain}};

void validate_dns_searches(Causes& causes, const std::string& path, const Value& config) {
  std::size_t index = 0;
  for (auto search : config["searches"]) {
    std::string at = item(child(path, "searches"), index++);
    auto name = search.text();
    if (name == ".") continue;
    if (name.ends_with('.')) name.remove_suffix(1);
    invalid_each(causes, at, name, dns1123_subdomain_with_underscores(name));
  }
  index = 0;
  for (auto option : config["options"]) {
    std::string at = item(child(path, "options"), index++);
    if (option["name"].text().empty()) required(causes, at, "must not be empty");
  }
}

void validate_dns(Causes& causes, const std::string& path, const Value& spec) {
  auto config = spec["dnsConfig"];
  std::string at = child(path, "dnsConfig");
  if (spec["dnsPolicy"].text() == "None") {
    if (!config) return required(causes, at, "must provide `dnsConfig` when `dnsPolicy` is None");
    if (config["nameservers"].empty())
      return required(causes, child(at, "nameservers"),
                      "must provide at least one DNS nameserver when `dnsPolicy` is None");
  }
  if (config["nameservers"].size() > 3)
    invalid(causes, child(at, "nameservers"), config["nameservers"], "must not have more than 3 nameservers");
  std::size_t index = 0;
  for (auto server : config["nameservers"])
    invalid_each(causes, item(child(at, "nameservers"), index++), server.text(), ip_address(server.text()));
  if (config["searches"].size() > 32)
    invalid(causes, child(at, "searches"), config["searches"], "must not have more than 32 search paths");
  validate_dns_searches(causes, at, config);
}

void validate_gates(Causes& causes, const std::string& path, const Value& gates) {
  std::set<std::string_view> seen;
  std::size_t index = 0;
  for (auto gate : gates) {
    std::string at = item(path, index++);
    auto name = gate["name"].text();
    invalid_each(causes, at, name, qualified_name(name));
    if (!seen.insert(name).second) duplicate(causes, at, name);
  }
}

void validate_host_network_ports(Causes& causes, const std::string& path, const Value& spec, bool is_pod) {
  if (!spec["hostNetwork"].boolean()) return;
  std::size_t container_index = 0;
  for (auto container : spec["containers"]) {
    std::string ports = child(item(child(path, "containers"), container_index++), "ports");
    std::size_t index = 0;
    for (auto port : container["ports"]) {
      std::string at = item(ports, index++);
      auto host_port = port["hostPort"].integer();
      if ((is_pod || host_port != 0) && host_port != port["containerPort"].integer())
        invalid(causes, child(at, "hostPort"), host_port, "must match `containerPort` when `hostNetwork` is true");
    }
  }
}

constexpr std::string_view kSysctlRule =
    "must have at most 253 characters and match regex "
    "^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$";

void validate_sysctls(Causes& causes, const std::string& path, const Value& sysctls) {
  std::set<std::string_view> names;
  std::size_t index = 0;
  for (auto sysctl : sysctls) {
    std::string at = child(item(path, index++), "name");
    auto name = sysctl["name"].text();
    if (name.empty())
      required(causes, at);
    else if (!is_sysctl_name(name))
      invalid(causes, at, name, kSysctlRule);
    else if (!names.insert(name).second)
      duplicate(causes, at, name);
  }
}

void validate_security_context(Causes& causes, const std::string& path, const Value& context) {
  validate_sysctls(causes, child(path, "sysctls"), context["sysctls"]);
  for (auto name : {"runAsUser", "runAsGroup", "fsGroup"})
    if (auto id = context[name])
      invalid_each(causes, child(path, name), id.integer(), in_range(id.integer(), 0, kInt32Max));
  std::size_t index = 0;
  for (auto id : context["supplementalGroups"])
    invalid_each(causes, item(child(path, "supplementalGroups"), index++), id.integer(),
                 in_range(id.integer(), 0, kInt32Max));
  validate_node_profiles(causes, path, context);
  constexpr static std::string_view kPolicies[] = {"Recursive"};  // MountOption is behind a gate
  if (const auto policy = context["seLinuxChangePolicy"]; policy && policy.text() != kPolicies[0])
    not_supported(causes, child(path, "seLinuxChangePolicy"), policy, kPolicies);
  validate_windows_options(causes, child(path, "windowsOptions"), context["windowsOptions"]);
}

void validate_pod_claims(Causes& causes, const std::string& path, const Value& claims) {
  std::set<std::string_view> names;
  std::size_t index = 0;
  for (auto claim : claims) {
    const auto at = item(path, index++);
    const auto name = claim["name"].text();
    const bool named = claim.has("resourceClaimName"), made = claim.has("resourceClaimTemplateName");
    if (name.empty())
      required(causes, child(at, "name"));
    else if (!names.insert(name).second)
      duplicate(causes, child(at, "name"), name);
    else
      invalid_each(causes, child(at, "name"), name, dns1123_label(name));
    if (named && made)
      invalid(causes, at, claim, "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified");
    if (!named && !made)
      invalid(causes, at, claim, "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`");
    for (auto field : {"resourceClaimName", "resourceClaimTemplateName"})
      if (const auto value = claim[field])
        invalid_each(causes, child(at, field), value.text(), dns1123_subdomain(value.text()));
  }
}

void validate_group_name(Causes& causes, const std::string& path, const Value& group) {
  if (!group.is_object()) return;
  const Value name = group["podGroupName"];
  const std::string at = child(path, "podGroupName");
  if (!name) return invalid(causes, at, BadValue::raw("null"), "must specify one of: `podGroupName`");
  invalid_each(causes, at, name.text(), dns1123_subdomain(name.text()));
}

void validate_pod_hostname(Causes& causes, const std::string& path, const Value& spec) {
  constexpr int kHostnameMax = 64;
  const auto name = spec["hostnameOverride"];
  if (!name) return;
  const auto at = child(path, "hostnameOverride");
  if (spec["setHostnameAsFQDN"].boolean()) forbidden(causes, at, "may not be specified when setHostnameAsFQDN is true");
  if (spec["hostNetwork"].boolean()) forbidden(causes, at, "may not be specified when hostNetwork is true");
  if (name.text().size() > static_cast<std::size_t>(kHostnameMax)) too_long(causes, at, kHostnameMax);
  invalid_each(causes, at, name.text(), dns1123_subdomain(name.text()));
}

/// Files of an emptyDir that variables come from.
void validate_file_keys(Causes& causes, const std::string& path, const Value& spec) {
  for (auto list : {"initContainers", "containers", "ephemeralContainers"}) {
    std::size_t container_index = 0;
    for (auto container : spec[list]) {
      const auto env = child(item(child(path, list), container_index++), "env");
      std::size_t index = 0;
      for (auto variable : container["env"]) {
        const auto at = child(item(env, index++), "valueFrom.fileKeyRef.volumeName");
        const auto file = variable["valueFrom"]["fileKeyRef"];
        if (!file) continue;
        Value found;
        for (auto volume : spec["volumes"])
          if (volume["name"].text() == file["volumeName"].text()) found = volume;
        if (!found)
          not_found(causes, at, file["volumeName"].text());
        else if (!found.has("emptyDir"))
          invalid(causes, at, file["volumeName"].text(), "referenced volume must be of type emptyDir");
      }
    }
  }
}

/// Calls `look` with each container of the pod, and its path.
template <typename Look>
void each_container(const std::string& path, const Value& spec, const Look& look) {
  for (auto list : {"initContainers", "containers", "ephemeralContainers"}) {
    std::size_t index = 0;
    for (auto container : spec[list]) look(container, item(child(path, list), index++));
  }
}

/// Windows: either all containers are processes of their node, or none.
void validate_host_processes(Causes& causes, const std::string& path, const Value& spec) {
  const auto of_pod = spec["securityContext"]["windowsOptions"]["hostProcess"];
  std::size_t all = 0, processes = 0;
  each_container(path, spec, [&](const Value& container, const std::string& at) {
    const auto own = container["securityContext"]["windowsOptions"]["hostProcess"];
    if (of_pod && own && of_pod.boolean() != own.boolean())
      invalid(causes, child(at, "securityContext.windowsOptions.hostProcess"), own,
              std::string("pod hostProcess value must be identical if both are specified, was ") +
                  (of_pod.boolean() ? "true" : "false"));
    ++all;
    processes += own ? own.boolean() : of_pod.boolean();
  });
  if (processes == 0) return;
  if (processes != all)
    invalid(causes, path, "",
            "If pod contains any hostProcess containers then all containers must be HostProcess containers");
  if (!spec["hostNetwork"].boolean())
    invalid(causes, child(path, "hostNetwork"), BadValue::raw("false"),
            "hostNetwork must be true if pod contains any hostProcess containers");
}

// What only Linux knows, of the pod, of its security context, and of a container's.
constexpr std::string_view
    kLinuxOfPod[] = {"hostUsers", "hostPID", "hostIPC", "shareProcessNamespace"},
    kLinuxOfContext[] = {"appArmorProfile",     "seLinuxOptions",
                         "seccompProfile",      "fsGroup",
                         "fsGroupChangePolicy", "sysctls",
                         "runAsUser",           "runAsGroup",
                         "supplementalGroups",  "supplementalGroupsPolicy",
                         "seLinuxChangePolicy"},
    kLinuxOfContainer[] = {
        "appArmorProfile", "seLinuxOptions",           "seccompProfile", "capabilities", "readOnlyRootFilesystem",
        "privileged",      "allowPrivilegeEscalation", "procMount",      "runAsUser",    "runAsGroup"};

void forbid_linux(Causes& causes, const std::string& path, const Value& value,
                  std::span<const std::string_view> fields) {
  for (auto field : fields) {
    const auto member = value[field];
    const bool said = member && !(field == "hostPID" || field == "hostIPC" ? !member.boolean()
                                                                           : field == "sysctls" && member.empty());
    if (said) forbidden(causes, child(path, field), "cannot be set for a windows pod");
  }
}

void validate_os(Causes& causes, const std::string& path, const Value& spec) {
  constexpr static std::string_view kSystems[] = {"linux", "windows"};
  const auto os = spec["os"]["name"].text();
  if (os.empty()) return;  // of one without a name the schema speaks
  if (os != kSystems[0] && os != kSystems[1]) return not_supported(causes, child(path, "os"), os, kSystems);
  const auto context = child(path, "securityContext");
  if (os == "windows") {
    forbid_linux(causes, path, spec, kLinuxOfPod);
    forbid_linux(causes, context, spec["securityContext"], kLinuxOfContext);
  } else if (spec["securityContext"].has("windowsOptions")) {
    forbidden(causes, child(context, "windowsOptions"), "windows options cannot be set for a linux pod");
  }
  each_container(path, spec, [&](const Value& container, const std::string& at) {
    const auto own = child(at, "securityContext");
    if (os == "windows")
      forbid_linux(causes, own, container["securityContext"], kLinuxOfContainer);
    else if (container["securityContext"].has("windowsOptions"))
      forbidden(causes, child(own, "windowsOptions"), "windows options cannot be set for a linux pod");
  });
}

bool same_list_length(Causes& causes, const std::string& path, const Value& containers, const Value& old) {
  if (containers.size() == old.size()) return true;
  forbidden(causes, path, "pod updates may not add or remove containers");
  return false;
}

bool validate_deadline_update(Causes& causes, const std::string& path, const Value& spec, const Value& old_spec) {
  auto deadline = spec["activeDeadlineSeconds"], old = old_spec["activeDeadlineSeconds"];
  std::string at = child(path, "activeDeadlineSeconds");
  if (!deadline) {
    if (old) invalid(causes, at, deadline, "must not update from a positive integer to nil value");
    return true;
  }
  auto messages = in_range(deadline.integer(), 0, kInt32Max);
  invalid_each(causes, at, deadline, messages);
  if (!messages.empty()) return false;
  if (old && old.integer() < deadline.integer()) {
    invalid(causes, at, deadline, "must be less than or equal to previous value");
    return false;
  }
  return true;
}

bool tolerates_the_same(const Value& a, const Value& b) {
  for (auto field : {"key", "operator", "value", "effect"})
    if (a[field].text() != b[field].text()) return false;
  return true;
}

void validate_only_added_tolerations(Causes& causes, const std::string& path, const Value& tolerations,
                                     const Value& old) {
  for (auto toleration : old) {
    bool kept = false;
    for (auto candidate : tolerations) kept |= tolerates_the_same(toleration, candidate);
    if (!kept) return forbidden(causes, path, "existing toleration can not be modified except its tolerationSeconds");
  }
}

void validate_only_removed_gates(Causes& causes, const std::string& path, const Value& gates, const Value& old) {
  std::set<std::string_view> names;
  for (auto gate : old) names.insert(gate["name"].text());
  std::size_t index = 0;
  for (auto gate : gates) {
    std::string at = child(item(path, index++), "name");
    if (!names.contains(gate["name"].text()))
      forbidden(causes, at, "only deletion is allowed, but found new scheduling gate '" + gate["name"].string() + "'");
  }
}

void validate_node_selector_additions(Causes& causes, const std::string& path, const Value& selector,
                                      const Value& old) {
  for (auto entry : old) {
    if (selector[entry.key()].text() == entry.text() && selector.has(entry.key())) continue;
    return invalid(causes, path, selector,
                   "only additions to spec.nodeSelector are allowed (no mutations or deletions)");
  }
}

void restore_updatable_fields(Causes& causes, const std::string& path, Value munged, const Value& old_spec) {
  for (auto list : {"containers", "initContainers"}) {
    auto old = old_spec[list].begin();
    for (auto container : munged[list]) {
      copy_field(container, *old, "image");
      ++old;
    }
  }
  for (auto field : {"activeDeadlineSeconds", "schedulingGates", "tolerations"}) copy_field(munged, old_spec, field);
  if (old_spec["terminationGracePeriodSeconds"].integer() < 0 && munged["terminationGracePeriodSeconds"].integer() == 1)
    copy_field(munged, old_spec, "terminationGracePeriodSeconds");
  if (old_spec["schedulingGates"].empty()) return;
  // A gated pod may still be narrowed down: its node selector may grow, and its node affinity may be tightened.
  validate_node_selector_additions(causes, child(path, "nodeSelector"), munged["nodeSelector"],
                                   old_spec["nodeSelector"]);
  validate_node_affinity_update(causes, child(path, "affinity.nodeAffinity"), munged["affinity"]["nodeAffinity"],
                                old_spec["affinity"]["nodeAffinity"]);
  copy_field(munged, old_spec, "nodeSelector");
  auto old_affinity = old_spec["affinity"];
  if (munged.has("affinity") || old_affinity.has("nodeAffinity")) {
    auto affinity = munged.object("affinity");
    copy_field(affinity, old_affinity, "nodeAffinity");
    if (affinity.empty()) munged.erase("affinity");
  }
}

}  // namespace

bool has_container(const Value& spec, std::string_view name) {
  for (const auto list : kContainerLists)
    for (const Value container : spec[list])
      if (container["name"].text() == name) return true;
  return false;
}

void validate_pod_spec(Causes& causes, const std::string& path, const Value& spec, const Value& metadata) {
  const bool is_pod = bool(metadata);
  const auto volumes = validate_volumes(causes, child(path, "volumes"), spec["volumes"], metadata);
  validate_pod_claims(causes, child(path, "resourceClaims"), spec["resourceClaims"]);
  validate_containers(causes, path, spec, volumes);
  validate_pod_resources(causes, path, spec);
  validate_host_network_ports(causes, path, spec, is_pod);
  validate_choice(causes, path, spec, {"restartPolicy", {"Always", "OnFailure", "Never"}});
  validate_choice(causes, path, spec, {"dnsPolicy", {"ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"}});
  validate_labels(causes, child(path, "nodeSelector"), spec["nodeSelector"]);
  if (spec["hostPID"].boolean() && spec["shareProcessNamespace"].boolean())
    invalid(causes, child(path, "securityContext.shareProcessNamespace"), spec["shareProcessNamespace"],
            "ShareProcessNamespace and HostPID cannot both be enabled");
  validate_security_context(causes, child(path, "securityContext"), spec["securityContext"]);
  validate_affinity(causes, child(path, "affinity"), spec["affinity"], metadata["labels"]);
  validate_dns(causes, path, spec);
  std::size_t index = 0;
  for (auto gate : spec["readinessGates"]) {
    std::string at = child(item(child(path, "readinessGates"), index++), "conditionType");
    invalid_each(causes, at, gate["conditionType"].text(), qualified_name(gate["conditionType"].text()));
  }
  validate_gates(causes, child(path, "schedulingGates"), spec["schedulingGates"]);
  validate_topology_spread(causes, child(path, "topologySpreadConstraints"), spec["topologySpreadConstraints"],
                           metadata["labels"]);
  validate_host_processes(causes, path, spec);
  validate_pod_hostname(causes, path, spec);
  for (const auto& fact : kNameFields) {
    auto name = spec[fact.field].text();
    if (!name.empty()) invalid_each(causes, child(path, fact.field), name, fact.rule(name));
  }
  if (auto deadline = spec["activeDeadlineSeconds"])
    invalid_each(causes, child(path, "activeDeadlineSeconds"), deadline, in_range(deadline.integer(), 1, kInt32Max));
  validate_tolerations(causes, child(path, "tolerations"), spec["tolerations"]);
  index = 0;
  for (auto alias : spec["hostAliases"]) {
    std::string at = item(child(path, "hostAliases"), index++);
    invalid_each(causes, child(at, "ip"), alias["ip"].text(), ip_address(alias["ip"].text()));
    std::size_t name_index = 0;
    for (auto name : alias["hostnames"])
      invalid_each(causes, item(child(at, "hostnames"), name_index++), name.text(), dns1123_subdomain(name.text()));
  }
  validate_choice(causes, path, spec, {"preemptionPolicy", {"PreemptLowerPriority", "Never"}});
  validate_os(causes, path, spec);
  validate_overhead(causes, child(path, "overhead"), spec["overhead"]);
  validate_group_name(causes, child(path, "schedulingGroup"), spec["schedulingGroup"]);
  validate_file_keys(causes, path, spec);
  if (!is_pod) return;
  for (auto list : {"containers", "initContainers"}) {
    index = 0;
    for (auto container : spec[list]) validate_image_whitespace(causes, item(child(path, list), index++), container);
  }
}

void validate_pod_template(Causes& causes, const std::string& path, const Value& pod_template) {
  validate_labels(causes, child(path, "labels"), pod_template["metadata"]["labels"]);
  const auto annotations = pod_template["metadata"]["annotations"];
  validate_annotations(causes, child(path, "annotations"), annotations);
  validate_pod_annotations(causes, child(path, "annotations"), annotations, pod_template["spec"]);
  validate_pod_spec(causes, child(path, "spec"), pod_template["spec"], {});
  validate_profiles_agree(causes, child(path, "spec"), annotations, pod_template["spec"]);
  if (!pod_template["spec"]["ephemeralContainers"].empty())
    forbidden(causes, child(path, "spec.ephemeralContainers"), "ephemeral containers not allowed in pod template");
}

void validate_pod_spec_update(Causes& causes, const std::string& path, const Value& spec, const Value& old_spec) {
  for (auto list : {"containers", "initContainers"})
    if (!same_list_length(causes, child(path, list), spec[list], old_spec[list])) return;
  if (!validate_deadline_update(causes, path, spec, old_spec)) return;
  validate_only_added_tolerations(causes, child(path, "tolerations"), spec["tolerations"], old_spec["tolerations"]);
  validate_only_removed_gates(causes, child(path, "schedulingGates"), spec["schedulingGates"],
                              old_spec["schedulingGates"]);
  if (semantically_equal(spec, old_spec)) return;
  Document munged = Document::copy_of(spec);
  restore_updatable_fields(causes, path, munged.root(), old_spec);
  if (semantically_equal(munged.root(), old_spec)) return;
  forbidden(causes, path,
            "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
            "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
            "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)");
}

}  // namespace sublet::apiserver
