#include <algorithm>
#include <set>
#include <string>

#include "apiserver/request/text_list.h"
#include "apiserver/validation/names.h"
#include "apiserver/validation/pod_spec.h"
#include "apiserver/validation/resources.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

constexpr std::string_view kEnvFieldPaths[] = {
    "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName",
    "status.hostIP", "status.hostIPs",     "status.podIP", "status.podIPs"};
constexpr std::string_view kEnvSources[] = {"fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef",
                                            "fileKeyRef"};
constexpr std::string_view kHandlers[] = {"exec", "httpGet", "tcpSocket", "grpc", "sleep"};
constexpr std::string_view kProbeNumbers[] = {"initialDelaySeconds", "timeoutSeconds", "periodSeconds",
                                              "successThreshold", "failureThreshold"};

void validate_port_reference(Causes& causes, const std::string& path, const Value& port) {
  if (port.is_string())
    invalid_each(causes, path, port.text(), port_name(port.text()));
  else
    invalid_each(causes, path, port.integer(), port_number(port.integer()));
}

void validate_container_ports(Causes& causes, const std::string& path, const Value& ports) {
  std::set<std::string_view> names;
  std::size_t index = 0;
  for (auto port : ports) {
    std::string at = item(path, index++);
    auto name = port["name"].text();
    if (!name.empty()) {
      auto messages = port_name(name);
      invalid_each(causes, child(at, "name"), name, messages);
      if (messages.empty() && !names.insert(name).second) duplicate(causes, child(at, "name"), name);
    }
    auto number = port["containerPort"].integer();
    if (number == 0)
      required(causes, child(at, "containerPort"));
    else
      invalid_each(causes, child(at, "containerPort"), number, port_number(number));
    auto host_port = port["hostPort"].integer();
    if (host_port != 0) invalid_each(causes, child(at, "hostPort"), host_port, port_number(host_port));
    validate_protocol(causes, child(at, "protocol"), port["protocol"].text());
  }
}

void validate_key_ref(Causes& causes, const std::string& path, const Value& ref) {
  invalid_each(causes, child(path, "name"), ref["name"].text(), dns1123_subdomain(ref["name"].text()));
  auto key = ref["key"].text();
  if (key.empty())
    required(causes, child(path, "key"));
  else
    invalid_each(causes, child(path, "key"), key, config_map_key(key));
}

void validate_file_ref(Causes& causes, const std::string& path, const Value& file) {
  const auto key = file["key"].text(), volume = file["volumeName"].text(), place = file["path"].text();
  if (key.empty())
    required(causes, child(path, "key"));
  else
    invalid_each(causes, child(path, "key"), key, env_var_name(key));
  if (volume.empty())
    required(causes, child(path, "volumeName"));
  else
    invalid_each(causes, child(path, "volumeName"), volume, dns1123_label(volume));
  if (place.empty())
    required(causes, child(path, "path"));
  else
    validate_no_backsteps(causes, child(path, "path"), place);
}

void validate_env_source(Causes& causes, const std::string& path, const Value& variable) {
  auto source = variable["valueFrom"];
  if (!source) return;
  int count = 0;
  for (auto name : kEnvSources) count += source.has(name);
  if (source.has("fieldRef")) validate_field_ref(causes, child(path, "fieldRef"), source["fieldRef"], kEnvFieldPaths);
  if (source.has("resourceFieldRef"))
    validate_resource_field_ref(causes, child(path, "resourceFieldRef"), source["resourceFieldRef"], false);
  for (auto name : {"configMapKeyRef", "secretKeyRef"})
    if (source.has(name)) validate_key_ref(causes, child(path, name), source[name]);
  if (source.has("fileKeyRef")) validate_file_ref(causes, child(path, "fileKeyRef"), source["fileKeyRef"]);
  if (count == 0)
    invalid(causes, path, "",
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`");
  else if (!variable["value"].text().empty())
    invalid(causes, path, "", "may not be specified when `value` is not empty");
  else if (count > 1)
    invalid(causes, path, "", "may not have more than one field specified at a time");
}

// Most variables are right: no path is made of theirs.
void validate_env(Causes& causes, const std::string& path, const Value& variables) {
  std::size_t index = 0;
  for (auto variable : variables) {
    const std::size_t place = index++;
    const auto name = variable["name"].text();
    const auto faults = env_var_name(name);
    const bool sourced = variable.has("valueFrom");
    if (!name.empty() && faults.empty() && !sourced) continue;
    const std::string at = item(path, place);
    if (name.empty())
      required(causes, child(at, "name"));
    else
      invalid_each(causes, child(at, "name"), name, faults);
    if (sourced) validate_env_source(causes, child(at, "valueFrom"), variable);
  }
}

void validate_env_from(Causes& causes, const std::string& path, const Value& sources) {
  std::size_t index = 0;
  for (auto source : sources) {
    std::string at = item(path, index++);
    auto prefix = source["prefix"].text();
    if (!prefix.empty()) invalid_each(causes, child(at, "prefix"), prefix, env_var_name(prefix));
    int count = 0;
    for (auto kind : {"configMapRef", "secretRef"}) {
      if (!source.has(kind)) continue;
      ++count;
      auto name = source[kind]["name"].text();
      if (name.empty())
        required(causes, child(child(at, kind), "name"));
      else
        invalid_each(causes, child(child(at, kind), "name"), name, dns1123_subdomain(name));
    }
    if (count == 0) invalid(causes, path, "", "must specify one of: `configMapRef` or `secretRef`");
    if (count > 1) invalid(causes, path, "", "may not have more than one field specified at a time");
  }
}

void validate_mounts(Causes& causes, const std::string& path, const Value& container,
                     const std::set<std::string_view>& volumes) {
  constexpr static std::string_view kPropagations[] = {"Bidirectional", "HostToContainer", "None"},
                                    kRecursive[] = {"Disabled", "Enabled", "IfPossible"};
  std::set<std::string_view> mount_paths, device_names, device_paths;
  for (auto device : container["volumeDevices"]) {
    device_names.insert(device["name"].text());
    device_paths.insert(device["devicePath"].text());
  }
  std::string mounts_path = child(path, "volumeMounts");
  std::size_t index = 0;
  bool privileged = container["securityContext"]["privileged"].boolean();
  for (auto mount : container["volumeMounts"]) {
    std::string at = item(mounts_path, index++);
    auto name = mount["name"].text(), mount_path = mount["mountPath"].text();
    if (name.empty()) required(causes, child(at, "name"));
    if (!volumes.contains(name)) not_found(causes, child(at, "name"), name);
    if (mount_path.empty()) required(causes, child(at, "mountPath"));
    if (!mount_paths.insert(mount_path).second) invalid(causes, child(at, "mountPath"), mount_path, "must be unique");
    if (device_names.contains(name))
      invalid(causes, child(at, "name"), name, "must not already exist in volumeDevices");
    if (device_paths.contains(mount_path))
      invalid(causes, child(at, "mountPath"), mount_path, "must not already exist as a path in volumeDevices");
    auto sub_path = mount["subPath"].text(), expression = mount["subPathExpr"].text();
    if (!sub_path.empty()) validate_relative_path(causes, child(mounts_path, "subPath"), sub_path);
    if (!expression.empty()) {
      if (!sub_path.empty())
        invalid(causes, child(at, "subPathExpr"), expression, "subPathExpr and subPath are mutually exclusive");
      validate_relative_path(causes, child(mounts_path, "subPathExpr"), expression);
    }
    // Upstream does not say which of the mounts.
    if (const auto mode = mount["mountPropagation"]) {
      const auto where = child(mounts_path, "mountPropagation");
      if (!contains_text(kPropagations, mode.text())) not_supported(causes, where, mode, kPropagations);
      if (mode.text() == "Bidirectional" && !privileged)
        forbidden(causes, where, "Bidirectional mount propagation is available only to privileged containers");
    }
    if (const auto mode = mount["recursiveReadOnly"]) {
      const auto where = child(mounts_path, "recursiveReadOnly");
      if (!contains_text(kRecursive, mode.text())) {
        not_supported(causes, where, mode, kRecursive);
      } else if (mode.text() != "Disabled") {
        if (!mount["readOnly"].boolean()) forbidden(causes, where, "may only be specified when readOnly is true");
        if (const auto propagation = mount["mountPropagation"]; propagation && propagation.text() != "None")
          forbidden(causes, where, "may only be specified when mountPropagation is None or not specified");
      }
    }
  }
}

void validate_devices(Causes& causes, const std::string& path, const Value& container, const SoundVolumes& volumes) {
  std::set<std::string_view> names, paths, mount_names, mount_paths;
  for (auto mount : container["volumeMounts"]) {
    mount_names.insert(mount["name"].text());
    mount_paths.insert(mount["mountPath"].text());
  }
  std::size_t index = 0;
  for (auto device : container["volumeDevices"]) {
    std::string at = item(path, index++);
    const auto name = device["name"].text(), place = device["devicePath"].text();
    const auto name_at = child(at, "name"), place_at = child(at, "devicePath");
    if (name.empty()) required(causes, name_at);
    if (names.contains(name)) invalid(causes, name_at, name, "must be unique");
    if (!volumes.names.contains(name))
      not_found(causes, name_at, name);
    else if (!volumes.claimed.contains(name))
      invalid(causes, name_at, name,
              "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode");
    if (place.empty()) required(causes, place_at);
    if (paths.contains(place)) invalid(causes, place_at, place, "must be unique");
    if (steps_back(place))
      invalid(causes, place_at, place, "can not contain backsteps ('..')");
    else
      paths.insert(place);
    if (mount_names.contains(name)) invalid(causes, name_at, name, "must not already exist in volumeMounts");
    if (mount_paths.contains(place))
      invalid(causes, place_at, place, "must not already exist as a path in volumeMounts");
    if (!name.empty()) names.insert(name);
  }
}

constexpr std::string_view kResizeResources[] = {"cpu", "memory"},
                           kResizePolicies[] = {"NotRequired", "RestartContainer"},
                           kRestartPolicies[] = {"Always", "Never", "OnFailure"},
                           kRestartActions[] = {"Restart", "RestartAllContainers"}, kExitOperators[] = {"In", "NotIn"};

void validate_resize_policy(Causes& causes, const std::string& path, const Value& policies,
                            std::string_view pod_policy) {
  const auto judge = [&](std::string_view text, std::span<const std::string_view> choices) {
    if (text.empty()) return required(causes, path);
    if (std::ranges::find(choices, text) == choices.end()) not_supported(causes, path, text, choices);
  };
  std::set<std::string_view> resources;
  std::size_t index = 0;
  for (auto policy : policies) {
    const auto at = item(path, index++);
    const auto resource = policy["resourceName"].text(), restart = policy["restartPolicy"].text();
    if (!resources.insert(resource).second) duplicate(causes, at, resource);
    judge(resource, kResizeResources);
    judge(restart, kResizePolicies);
    if (pod_policy == "Never" && restart != "NotRequired")
      invalid(causes, path, restart, "must be 'NotRequired' when pod `restartPolicy` is 'Never'");
  }
}

void validate_restart_policy(Causes& causes, const std::string& path, const Value& container, bool init) {
  constexpr std::size_t kRulesMax = 20, kExitCodesMax = 255;
  const auto policy = container["restartPolicy"], rules = container["restartPolicyRules"];
  if (!policy) {
    if (!rules.empty())
      required(causes, child(path, "restartPolicy"), "must specify restartPolicy when restart rules are used");
    if (init) return;
  } else if (!contains_text(kRestartPolicies, policy.text())) {
    not_supported(causes, child(path, "restartPolicy"), policy, kRestartPolicies);
  }
  const auto rules_at = child(path, "restartPolicyRules");
  if (rules.size() > kRulesMax) too_many(causes, rules_at, rules.size(), kRulesMax);
  std::size_t index = 0;
  for (auto rule : rules) {
    const auto at = item(rules_at, index++), codes_at = child(at, "exitCodes");
    if (!contains_text(kRestartActions, rule["action"].text()))
      not_supported(causes, child(at, "action"), rule["action"].text(), kRestartActions);
    const auto codes = rule["exitCodes"];
    if (!codes) {
      required(causes, codes_at, "must be specified");
      continue;
    }
    if (!contains_text(kExitOperators, codes["operator"].text()))
      not_supported(causes, child(codes_at, "operator"), codes["operator"].text(), kExitOperators);
    if (codes["values"].size() > kExitCodesMax)
      too_many(causes, child(codes_at, "values"), codes["values"].size(), kExitCodesMax);
  }
}

/// Claims of the pod that a container names: each once, whole or by its requests.
void validate_claim_names(Causes& causes, const std::string& path, const Value& claims,
                          const std::set<std::string>& pod_claims) {
  std::string known;
  for (const auto& name : pod_claims) known += (known.empty() ? ": " : ", ") + name;
  std::set<std::string> names;
  std::size_t index = 0;
  for (auto claim : claims) {
    const auto at = item(path, index++);
    const auto name = claim["name"].string(), request = claim["request"].string();
    if (name.empty()) {
      required(causes, at);
    } else if (names.contains(name)) {
      duplicate(causes, at, name);
    } else {
      if (!request.empty()) invalid_each(causes, child(at, "request"), request, dns1123_label(request));
      const auto key = request.empty() ? name : name + "/" + request;
      if (names.contains(key))
        duplicate(causes, at, key);
      else if (request.empty())
        for (const auto& other : names)
          if (other.starts_with(name + "/")) duplicate(causes, at, name);
      names.insert(key);
    }
    if (!pod_claims.contains(name) && !name.empty())
      causes.push_back({"FieldValueNotFound",
                        "Not found: " + BadValue(name).text() +
                            ": must be one of the names in pod.spec.resourceClaims" +
                            (known.empty() ? " which is empty" : known),
                        at});
  }
}

/// What a container's rules need to know of its pod.
struct PodFacts {
  SoundVolumes volumes;
  std::set<std::string> claims;
  std::string_view restart_policy;
  std::int64_t grace;
};

void validate_http_get(Causes& causes, const std::string& path, const Value& action) {
  if (action["path"].text().empty()) required(causes, child(path, "path"));
  validate_port_reference(causes, child(path, "port"), action["port"]);
  for (auto header : action["httpHeaders"])
    invalid_each(causes, child(path, "httpHeaders"), header["name"].text(), http_header_name(header["name"].text()));
}

void validate_handler(Causes& causes, const std::string& path, const Value& handler, std::int64_t grace) {
  int count = 0;
  for (auto name : kHandlers) {
    auto action = handler[name];
    if (!action) continue;
    std::string at = child(path, name);
    if (count++ > 0) {
      forbidden(causes, at, "may not specify more than 1 handler type");
      continue;
    }
    if (name == "exec" && action["command"].empty()) required(causes, child(at, "command"));
    if (name == "httpGet") validate_http_get(causes, at, action);
    if (name == "tcpSocket" || name == "grpc") validate_port_reference(causes, child(at, "port"), action["port"]);
    auto seconds = action["seconds"].integer();
    if (name == "sleep" && (seconds < 0 || seconds > grace))
      invalid(causes, at, seconds,
              "must be non-negative and less than terminationGracePeriodSeconds (" + std::to_string(grace) + ")");
  }
  if (count == 0) required(causes, path, "must specify a handler type");
}

void validate_probe(Causes& causes, const std::string& path, const Value& probe, std::string_view name,
                    std::int64_t grace) {
  validate_handler(causes, path, probe, grace);
  for (auto number : kProbeNumbers) nonnegative(causes, child(path, number), probe[number].integer());
  auto own_grace = probe["terminationGracePeriodSeconds"];
  if (own_grace && name == "readinessProbe")
    invalid(causes, child(path, "terminationGracePeriodSeconds"), own_grace, "must not be set for readinessProbes");
  else if (own_grace && own_grace.integer() <= 0)
    invalid(causes, child(path, "terminationGracePeriodSeconds"), own_grace, "must be greater than 0");
  if (name != "readinessProbe" && probe["successThreshold"].integer() != 1)
    invalid(causes, child(path, "successThreshold"), probe["successThreshold"].integer(), "must be 1");
}

void validate_lifecycle(Causes& causes, const std::string& path, const Value& container, std::int64_t grace) {
  for (auto hook : {"postStart", "preStop"})
    if (auto handler = container["lifecycle"][hook])
      validate_handler(causes, child(child(path, "lifecycle"), hook), handler, grace);
  for (auto name : kProbes)
    if (auto probe = container[name]) validate_probe(causes, child(path, name), probe, name, grace);
}

void forbid_lifecycle(Causes& causes, const std::string& path, const Value& container) {
  for (auto name : {"lifecycle", "livenessProbe", "readinessProbe", "startupProbe"})
    if (container.has(name))
      forbidden(causes, child(path, name), "may not be set for init containers without restartPolicy=Always");
}

void validate_user_ids(Causes& causes, const std::string& path, const Value& context) {
  for (auto name : {"runAsUser", "runAsGroup"})
    if (auto id = context[name])
      invalid_each(causes, child(path, name), id.integer(), in_range(id.integer(), 0, 2147483647));
  bool forbids_escalation = !context["allowPrivilegeEscalation"].boolean(true);
  if (context["privileged"].boolean() && forbids_escalation)
    invalid(causes, path, context, "cannot set `allowPrivilegeEscalation` to false and `privileged` to true");
}

void validate_seccomp_profile(Causes& causes, const std::string& path, const Value& profile) {
  constexpr static std::string_view kTypes[] = {"Localhost", "RuntimeDefault", "Unconfined"};
  const auto name = profile["localhostProfile"];
  const auto type = profile["type"].text();
  const auto at = child(path, "localhostProfile");
  if (type.empty())
    required(causes, child(path, "type"), "type is required when seccompProfile is set");
  else if (!contains_text(kTypes, type))
    not_supported(causes, child(path, "type"), type, kTypes);
  if (type != "Localhost") {
    if (name) invalid(causes, at, profile, "can only be set when seccomp type is Localhost");
  } else if (!name) {
    required(causes, at, "must be set when seccomp type is Localhost");
  } else {
    validate_relative_path(causes, at, name.text());
  }
}

void validate_common(Causes& causes, const std::string& path, const Value& container, const PodFacts& pod) {
  auto name = container["name"].text();
  if (name.empty())
    required(causes, child(path, "name"));
  else
    invalid_each(causes, child(path, "name"), name, dns1123_label(name));
  if (container["image"].text().empty()) required(causes, child(path, "image"));
  validate_choice(causes, path, container, {"terminationMessagePolicy", {"File", "FallbackToLogsOnError"}});
  validate_container_ports(causes, child(path, "ports"), container["ports"]);
  validate_env(causes, child(path, "env"), container["env"]);
  validate_env_from(causes, child(path, "envFrom"), container["envFrom"]);
  validate_mounts(causes, path, container, pod.volumes.names);
  validate_devices(causes, child(path, "volumeDevices"), container, pod.volumes);
  validate_choice(causes, path, container, {"imagePullPolicy", {"Always", "IfNotPresent", "Never"}});
  validate_container_resources(causes, child(path, "resources"), container["resources"]);
  validate_claim_names(causes, child(path, "resources.claims"), container["resources"]["claims"], pod.claims);
  validate_resize_policy(causes, child(path, "resizePolicy"), container["resizePolicy"], pod.restart_policy);
  if (auto context = container["securityContext"]) {
    validate_user_ids(causes, child(path, "securityContext"), context);
    validate_windows_options(causes, child(path, "securityContext.windowsOptions"), context["windowsOptions"]);
    validate_node_profiles(causes, child(path, "securityContext"), context);
  }
}

/// Segments of letters, digits, hyphens and underscores with dots between them, none with a hyphen at an end.
bool is_windows_domain(std::string_view text) {
  while (true) {
    const auto dot = text.find('.');
    const auto part = text.substr(0, dot);
    const bool spelled = std::ranges::all_of(
        part, [](char c) { return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '-'; });
    if (part.empty() || !spelled || part.front() == '-' || part.back() == '-') return false;
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
}

void validate_host_ports(Causes& causes, const std::string& path, const Value& containers) {
  std::set<std::string> seen;
  std::size_t container_index = 0;
  for (auto container : containers) {
    std::string ports = child(item(path, container_index++), "ports");
    std::size_t index = 0;
    for (auto port : container["ports"]) {
      std::string at = item(ports, index++);
      auto number = port["hostPort"].integer();
      if (number == 0) continue;
      auto key = port["protocol"].string() + "/" + port["hostIP"].string() + "/" + std::to_string(number);
      if (!seen.insert(key).second) duplicate(causes, child(at, "hostPort"), key);
    }
  }
}

}  // namespace

void validate_windows_options(Causes& causes, const std::string& path, const Value& options) {
  constexpr std::size_t kSpecMax = 64 * 1024, kDomainEnd = 256, kUserMax = 104;
  if (const auto name = options["gmsaCredentialSpecName"])
    invalid_each(causes, child(path, "gmsaCredentialSpecName"), name.text(), dns1123_subdomain(name.text()));
  const auto spec = options["gmsaCredentialSpec"], runner = options["runAsUserName"];
  if (spec && spec.text().empty())
    invalid(causes, child(path, "gmsaCredentialSpec"), spec, "gmsaCredentialSpec cannot be an empty string");
  if (spec && spec.text().size() > kSpecMax)
    invalid(causes, child(path, "gmsaCredentialSpec"), spec, "gmsaCredentialSpec size must be under 64 KiB");
  if (!runner) return;
  const auto at = child(path, "runAsUserName");
  const auto name = runner.text();
  const auto slash = name.find('\\');
  if (name.empty()) return invalid(causes, at, runner, "runAsUserName cannot be an empty string");
  if (std::ranges::any_of(name, [](unsigned char c) { return c < 0x20 || c == 0x7f; }))
    return invalid(causes, at, runner, "runAsUserName cannot contain control characters");
  if (slash != std::string_view::npos && name.find('\\', slash + 1) != std::string_view::npos)
    return invalid(causes, at, runner, "runAsUserName cannot contain more than one backslash");
  const auto domain = slash == std::string_view::npos ? std::string_view() : name.substr(0, slash);
  const auto user = slash == std::string_view::npos ? name : name.substr(slash + 1);
  constexpr std::string_view kNotInNetBios = "\\/:*?\"<>|.";
  const bool is_net_bios =
      !domain.empty() && domain.size() <= 15 && domain.find_first_of(kNotInNetBios) == std::string_view::npos;
  if (domain.size() >= kDomainEnd)
    invalid(causes, at, runner, "runAsUserName's Domain length must be under 256 characters");
  if (slash != std::string_view::npos && !is_net_bios && !is_windows_domain(domain))
    invalid(causes, at, runner, "runAsUserName's Domain doesn't match the NetBios nor the DNS format");
  if (user.empty()) invalid(causes, at, runner, "runAsUserName's User cannot be empty");
  if (user.size() > kUserMax)
    invalid(causes, at, runner, "runAsUserName's User length must not be longer than 104 characters");
  if (user.find_first_not_of(". ") == std::string_view::npos && !user.empty())
    invalid(causes, at, runner, "runAsUserName's User cannot contain only periods or spaces");
  if (user.find_first_of("\"/\\:;|=,+*?<>@[]") != std::string_view::npos)
    invalid(causes, at, runner, "runAsUserName's User cannot contain the following characters: \"/\\:;|=,+*?<>@[]");
}

void validate_node_profiles(Causes& causes, const std::string& path, const Value& security_context) {
  if (const Value profile = security_context["seccompProfile"])
    validate_seccomp_profile(causes, child(path, "seccompProfile"), profile);
  if (const Value profile = security_context["appArmorProfile"])
    validate_app_armor_profile(causes, child(path, "appArmorProfile"), profile);
}

namespace {

void validate_init_resizes(Causes& causes, const std::string& path, const Value& container) {
  std::size_t index = 0;
  for (auto policy : container["resizePolicy"]) {
    const auto at = child(item(child(path, "resizePolicy"), index++), "restartPolicy");
    if (policy["restartPolicy"].text() == "RestartContainer")
      invalid(causes, at, "RestartContainer", "must not be set to 'RestartContainer' for non-sidecar initContainers");
  }
}

/// What a container that is added to a running pod cannot have.
void validate_ephemeral(Causes& causes, const std::string& path, const Value& container, const Value& spec) {
  constexpr static std::string_view kForbidden[] = {"ports",         "resources",          "resizePolicy",
                                                    "restartPolicy", "restartPolicyRules", "livenessProbe",
                                                    "startupProbe",  "readinessProbe",     "lifecycle"};
  constexpr std::string_view kZeroIsNone = "resources";  // always there upstream; the other objects are, or are not
  if (const auto target = container["targetContainerName"].text(); !target.empty()) {
    bool found = false;
    for (auto list : {"containers", "initContainers"})
      for (auto other : spec[list]) found |= other["name"].text() == target;
    if (!found) not_found(causes, child(path, "targetContainerName"), target);
  }
  for (auto field : kForbidden)
    if (const auto value = container[field]; value && (!value.empty() || (value.is_object() && field != kZeroIsNone)))
      forbidden(causes, child(path, field), "cannot be set for an Ephemeral Container");
  std::size_t index = 0;
  for (auto mount : container["volumeMounts"]) {
    const auto at = item(child(path, "volumeMounts"), index++);
    for (auto field : {"subPath", "subPathExpr"})
      if (!mount[field].text().empty()) forbidden(causes, child(at, field), "cannot be set for an Ephemeral Container");
  }
}

}  // namespace

void validate_containers(Causes& causes, const std::string& path, const Value& spec, const SoundVolumes& volumes) {
  PodFacts pod{volumes, {}, spec["restartPolicy"].text(), spec["terminationGracePeriodSeconds"].integer(30)};
  for (auto claim : spec["resourceClaims"])
    if (!claim["name"].text().empty()) pod.claims.insert(claim["name"].string());
  std::set<std::string_view> names;
  if (spec["containers"].empty()) required(causes, child(path, "containers"));
  for (const std::string_view list : {"containers", "initContainers", "ephemeralContainers"}) {
    const bool init = list == "initContainers", ephemeral = list == "ephemeralContainers";
    if (ephemeral)  // to which an init container's missing name is one like any other
      for (auto container : spec["initContainers"]) names.insert(container["name"].text());
    std::size_t index = 0;
    for (auto container : spec[list]) {
      const std::string at = item(child(path, list), index++);
      const bool sidecar = init && container["restartPolicy"].text() == "Always";
      validate_common(causes, at, container, pod);
      const auto name = container["name"].text();
      if (names.contains(name))
        duplicate(causes, child(at, "name"), name);
      else if (!init || !name.empty())
        names.insert(name);
      if (ephemeral) {
        validate_image_whitespace(causes, at, container);
        validate_ephemeral(causes, at, container, spec);
        continue;
      }
      validate_restart_policy(causes, at, container, init);
      if (init && !sidecar) {
        forbid_lifecycle(causes, at, container);
        validate_init_resizes(causes, at, container);
      } else {
        validate_lifecycle(causes, at, container, pod.grace);
      }
    }
  }
  validate_claim_names(causes, child(path, "resources.claims"), spec["resources"]["claims"], pod.claims);
  validate_host_ports(causes, child(path, "containers"), spec["containers"]);
}

void validate_image_whitespace(Causes& causes, const std::string& path, const Value& container) {
  constexpr std::string_view kSpace = " \t\n\r\v\f";
  const auto image = container["image"].text();
  if (!image.empty() &&
      (kSpace.find(image.front()) != std::string_view::npos || kSpace.find(image.back()) != std::string_view::npos))
    invalid(causes, child(path, "image"), image, "must not have leading or trailing whitespace");
}

}  // namespace sublet::apiserver
