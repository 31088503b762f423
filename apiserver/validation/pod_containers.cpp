#include <algorithm>
#include <set>
#include <string>

#include "apiserver/validation/names.h"
#include "apiserver/validation/pod_spec.h"
#include "apiserver/validation/resources.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

constexpr std::string_view kEnvFieldPaths[] = {
    "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName",
    "status.hostIP", "status.hostIPs",     "status.podIP", "status.podIPs"};
/// Paths that the downward API knows at all, though not everywhere.
constexpr std::string_view kKnownFieldPaths[] = {"metadata.annotations", "metadata.labels", "spec.restartPolicy",
                                                 "spec.schedulerName", "status.phase"};
/// What a resource's value may be divided by.
struct DivisorFacts {
  std::string_view suffix, allowed, message;
};
constexpr std::string_view kByteDivisors = ",1,1k,1M,1G,1T,1P,1E,1Ki,1Mi,1Gi,1Ti,1Pi,1Ei,";
constexpr DivisorFacts kDivisors[] = {
    {"cpu", ",1m,1,", "only divisor's values 1m and 1 are supported with the cpu resource"},
    {"memory", kByteDivisors,
     "only divisor's values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei are supported with the memory "
     "resource"},
    {"ephemeral-storage", kByteDivisors,
     "only divisor's values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei are supported with the local "
     "ephemeral storage resource"}};
constexpr std::string_view kResourceFields[] = {"limits.cpu",   "limits.ephemeral-storage",   "limits.memory",
                                                "requests.cpu", "requests.ephemeral-storage", "requests.memory"};
constexpr std::string_view kEnvSources[] = {"fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef",
                                            "fileKeyRef"};
constexpr std::string_view kHandlers[] = {"exec", "httpGet", "tcpSocket", "grpc", "sleep"};
constexpr std::string_view kProbeNumbers[] = {"initialDelaySeconds", "timeoutSeconds", "periodSeconds",
                                              "successThreshold", "failureThreshold"};

template <std::size_t N>
bool contains(const std::string_view (&list)[N], std::string_view text) {
  return std::find(std::begin(list), std::end(list), text) != std::end(list);
}

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

/// "metadata.labels['x']" -> true, with the part before the subscript in `base` and the key in `key`.
bool split_subscript(std::string_view path, std::string_view& base, std::string_view& key) {
  auto open = path.find("['");
  if (open == std::string_view::npos || !path.ends_with("']")) return false;
  base = path.substr(0, open);
  key = path.substr(open + 2, path.size() - open - 4);
  return true;
}

void validate_field_ref(Causes& causes, const std::string& path, const Value& ref) {
  auto field_path = ref["fieldPath"].text();
  if (field_path.empty()) return required(causes, child(path, "fieldPath"));
  std::string_view base, key;
  if (split_subscript(field_path, base, key)) {
    if (base != "metadata.labels" && base != "metadata.annotations")
      return invalid(causes, path, base, "does not support subscript");
    std::string name(key);
    if (base == "metadata.annotations")
      std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
    return invalid_each(causes, path, name, qualified_name(name));
  }
  if (!contains(kEnvFieldPaths, field_path) && !contains(kKnownFieldPaths, field_path))
    return invalid(causes, child(path, "fieldPath"), field_path,
                   "error converting fieldPath: field label not supported: " + std::string(field_path));
  if (!contains(kEnvFieldPaths, field_path))
    not_supported(causes, child(path, "fieldPath"), field_path, kEnvFieldPaths);
}

void validate_resource_field_ref(Causes& causes, const std::string& path, const Value& ref) {
  auto resource = ref["resource"].text();
  if (resource.empty()) return required(causes, child(path, "resource"));
  bool huge_pages = resource.starts_with("requests.hugepages-") || resource.starts_with("limits.hugepages-");
  if (!huge_pages && !contains(kResourceFields, resource))
    not_supported(causes, child(path, "resource"), resource, kResourceFields);
  auto divisor = ref["divisor"].string();
  if (divisor.empty() || divisor == "0") return;
  for (const auto& facts : kDivisors)
    if (resource.ends_with("." + std::string(facts.suffix)) &&
        facts.allowed.find("," + divisor + ",") == std::string_view::npos)
      invalid(causes, child(path, "divisor"), resource, facts.message);
}

void validate_key_ref(Causes& causes, const std::string& path, const Value& ref) {
  invalid_each(causes, child(path, "name"), ref["name"].text(), dns1123_subdomain(ref["name"].text()));
  auto key = ref["key"].text();
  if (key.empty())
    required(causes, child(path, "key"));
  else
    invalid_each(causes, child(path, "key"), key, config_map_key(key));
}

void validate_env_source(Causes& causes, const std::string& path, const Value& variable) {
  auto source = variable["valueFrom"];
  if (!source) return;
  int count = 0;
  for (auto name : kEnvSources) count += source.has(name);
  if (source.has("fieldRef")) validate_field_ref(causes, child(path, "fieldRef"), source["fieldRef"]);
  if (source.has("resourceFieldRef"))
    validate_resource_field_ref(causes, child(path, "resourceFieldRef"), source["resourceFieldRef"]);
  for (auto name : {"configMapKeyRef", "secretKeyRef"})
    if (source.has(name)) validate_key_ref(causes, child(path, name), source[name]);
  if (count == 0)
    invalid(causes, path, "",
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`");
  else if (!variable["value"].text().empty())
    invalid(causes, path, "", "may not be specified when `value` is not empty");
  else if (count > 1)
    invalid(causes, path, "", "may not have more than one field specified at a time");
}

void validate_env(Causes& causes, const std::string& path, const Value& variables) {
  std::size_t index = 0;
  for (auto variable : variables) {
    std::string at = item(path, index++);
    auto name = variable["name"].text();
    if (name.empty())
      required(causes, child(at, "name"));
    else
      invalid_each(causes, child(at, "name"), name, env_var_name(name));
    validate_env_source(causes, child(at, "valueFrom"), variable);
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
  std::set<std::string_view> mount_paths;
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
    auto sub_path = mount["subPath"].text(), expression = mount["subPathExpr"].text();
    if (!sub_path.empty()) validate_relative_path(causes, child(mounts_path, "subPath"), sub_path);
    if (!expression.empty()) {
      if (!sub_path.empty())
        invalid(causes, child(at, "subPathExpr"), expression, "subPathExpr and subPath are mutually exclusive");
      validate_relative_path(causes, child(mounts_path, "subPathExpr"), expression);
    }
    if (mount["mountPropagation"].text() == "Bidirectional" && !privileged)
      forbidden(causes, child(mounts_path, "mountPropagation"),
                "Bidirectional mount propagation is available only to privileged containers");
  }
}

void validate_devices(Causes& causes, const std::string& path, const Value& devices,
                      const std::set<std::string_view>& volumes) {
  std::size_t index = 0;
  for (auto device : devices) {
    std::string at = item(path, index++);
    auto name = device["name"].text();
    if (name.empty()) required(causes, child(at, "name"));
    if (!volumes.contains(name)) not_found(causes, child(at, "name"), name);
    if (device["devicePath"].text().empty()) required(causes, child(at, "devicePath"));
  }
}

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

constexpr std::string_view kProbes[] = {"livenessProbe", "readinessProbe", "startupProbe"};

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

/// Upstream's words differ in the name alone.
void validate_profile(Causes& causes, const std::string& path, const Value& profile, const std::string& what) {
  const Value name = profile["localhostProfile"];
  const std::string at = child(path, "localhostProfile");
  const bool is_path = what == "seccomp";
  const bool is_blank = name.text().find_first_not_of(" \t\n\v\f\r") == std::string_view::npos;
  if (profile["type"].text() != "Localhost") {
    if (name) invalid(causes, at, profile, "can only be set when " + what + " type is Localhost");
  } else if (!name || (!is_path && is_blank)) {
    required(causes, at, "must be set when " + what + " type is Localhost");
  } else if (is_path) {
    validate_relative_path(causes, at, name.text());
  }
}

void validate_common(Causes& causes, const std::string& path, const Value& container,
                     const std::set<std::string_view>& volumes) {
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
  validate_mounts(causes, path, container, volumes);
  validate_devices(causes, child(path, "volumeDevices"), container["volumeDevices"], volumes);
  validate_choice(causes, path, container, {"imagePullPolicy", {"Always", "IfNotPresent", "Never"}});
  validate_container_resources(causes, child(path, "resources"), container["resources"]);
  if (auto context = container["securityContext"]) {
    validate_user_ids(causes, child(path, "securityContext"), context);
    validate_node_profiles(causes, child(path, "securityContext"), context);
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

// What serves a pod's own work is nothing for a container that looks into it.
constexpr std::string_view kNotEphemeral[] = {"ports",          "resources",          "resizePolicy",
                                              "restartPolicy",  "restartPolicyRules", "livenessProbe",
                                              "readinessProbe", "startupProbe",       "lifecycle"};

void validate_ephemeral(Causes& causes, const std::string& path, const Value& container) {
  // Defaults fill an empty object in.
  for (const auto field : kNotEphemeral)
    if (container.has(field) && !container[field].empty())
      forbidden(causes, child(path, field), "cannot be set for an Ephemeral Container");
  std::size_t index = 0;
  for (auto mount : container["volumeMounts"]) {
    const std::string at = item(child(path, "volumeMounts"), index++);
    for (const auto field : {"subPath", "subPathExpr"})
      if (!mount[field].text().empty()) forbidden(causes, child(at, field), "cannot be set for an Ephemeral Container");
  }
}

}  // namespace

void validate_node_profiles(Causes& causes, const std::string& path, const Value& security_context) {
  if (const Value profile = security_context["seccompProfile"])
    validate_profile(causes, child(path, "seccompProfile"), profile, "seccomp");
  if (const Value profile = security_context["appArmorProfile"])
    validate_profile(causes, child(path, "appArmorProfile"), profile, "AppArmor");
}

void validate_containers(Causes& causes, const std::string& path, const Value& spec) {
  std::set<std::string_view> volumes, names;
  for (auto volume : spec["volumes"]) volumes.insert(volume["name"].text());
  auto grace = spec["terminationGracePeriodSeconds"].integer(30);
  std::string containers_path = child(path, "containers");
  if (spec["containers"].empty()) required(causes, containers_path);
  for (auto list : {"containers", "initContainers"}) {
    std::size_t index = 0;
    for (auto container : spec[list]) {
      std::string at = item(child(path, list), index++);
      validate_common(causes, at, container, volumes);
      auto name = container["name"].text();
      if (!name.empty() && !names.insert(name).second) duplicate(causes, child(at, "name"), name);
      bool init = std::string_view(list) == "initContainers";
      if (init && container["restartPolicy"].text() != "Always")
        forbid_lifecycle(causes, at, container);
      else
        validate_lifecycle(causes, at, container, grace);
    }
  }
  validate_host_ports(causes, containers_path, spec["containers"]);
  const std::set<std::string_view> lasting = names;
  std::size_t index = 0;
  for (auto container : spec["ephemeralContainers"]) {
    const std::string at = item(child(path, "ephemeralContainers"), index++);
    validate_common(causes, at, container, volumes);
    const auto name = container["name"].text(), target = container["targetContainerName"].text();
    if (!name.empty() && !names.insert(name).second) duplicate(causes, child(at, "name"), name);
    if (!target.empty() && !lasting.contains(target)) not_found(causes, child(at, "targetContainerName"), target);
    validate_ephemeral(causes, at, container);
  }
}

}  // namespace sublet::apiserver
