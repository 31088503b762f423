#include "apiserver/validation/warnings.h"

#include <algorithm>
#include <charconv>

#include "apiserver/validation/certificates.h"
#include "apiserver/validation/field_errors.h"
#include "apiserver/validation/names.h"
#include "sublet/base/go_quoted.h"
#include "sublet/base/text.h"
#include "sublet/schema/engine.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

// --- addresses ---

void warn_of_addresses(const std::string& path, const Value& list, Warnings& warnings,
                       void (*warn)(const std::string&, std::string_view, Warnings&)) {
  std::size_t index = 0;
  for (const Value entry : list) warn(item(path, index++), entry.text(), warnings);
}

/// Warnings about addresses are about IPv6 only. Endpoints have many and are written often, so paths are made last.
bool may_be_ipv6(const Value& address) { return address.text().find(':') != std::string_view::npos; }

// --- pods and what makes them ---

void warn_of_name(std::string_view use, const Value& object, Warnings& warnings) {
  const Messages messages = dns1123_label(object["metadata"]["name"].text());
  if (messages.empty()) return;
  warnings.push_back("metadata.name: this is used in " + std::string(use) +
                     ", which can result in surprising behavior; a DNS label is recommended: [" + join(messages, " ") +
                     "]");
}

bool is_new(const Value& old) { return old.missing(); }
bool has_new_generation(const Value& object, const Value& old) {
  return is_new(old) || object["metadata"]["generation"].integer() != old["metadata"]["generation"].integer();
}

void warn_of_new_pod(const Value& object, const Value& old, Warnings& warnings) {
  if (!is_new(old)) return;  // people do not change pods, and their updates are many
  warn_of_name("the Pod's hostname", object, warnings);
  warn_of_pod("", object, warnings);
}

void warn_of_pod_template(const Value& object, const Value& old, Warnings& warnings) {
  if (is_new(old) || !object["template"].equals(old["template"])) warn_of_pod("template", object["template"], warnings);
}

void warn_of_workload(const Value& object, const Value& old, Warnings& warnings) {
  if (has_new_generation(object, old)) warn_of_pod("spec.template", object["spec"]["template"], warnings);
}

void warn_of_named_workload(const Value& object, const Value& old, Warnings& warnings) {
  if (is_new(old)) warn_of_name("Pod names and hostnames", object, warnings);
  warn_of_workload(object, old, warnings);
}

void warn_of_daemon_set(const Value& object, const Value& old, Warnings& warnings) {
  const Value made = object["spec"]["template"];
  if (is_new(old) || !made.equals(old["spec"]["template"])) warn_of_pod("spec.template", made, warnings);
}

void warn_of_stateful_set(const Value& object, const Value& old, Warnings& warnings) {
  warn_of_workload(object, old, warnings);
  std::size_t index = 0;
  for (const Value claim : object["spec"]["volumeClaimTemplates"]) {
    const std::string at = item("spec.volumeClaimTemplates", index++);
    warn_of_claim_spec(is_new(old) ? at : at + ".Spec", claim["spec"], warnings);  // upstream's paths
  }
  if (object["spec"]["revisionHistoryLimit"].integer() < 0)
    warnings.emplace_back(
        "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended");
}

void warn_of_job_spec(const std::string& path, const Value& spec, Warnings& warnings) {
  constexpr std::int64_t kCompletionsMax = 100'000, kParallelismMax = 10'000;
  if (spec["completionMode"].text() == "Indexed" && spec["completions"].integer() > kCompletionsMax &&
      spec["parallelism"].integer() > kParallelismMax)
    warnings.push_back(
        path +
        ": In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than "
        "10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail");
  warn_of_pod(child(path, "template"), spec["template"], warnings);
}

void warn_of_job(const Value& object, const Value& old, Warnings& warnings) {
  if (is_new(old)) warn_of_name("Pod names and hostnames", object, warnings);
  if (has_new_generation(object, old)) warn_of_job_spec("spec", object["spec"], warnings);
}

void warn_of_cron_job(const Value& object, const Value& old, Warnings& warnings) {
  if (is_new(old)) warn_of_name("Pod names and hostnames", object, warnings);
  if (has_new_generation(object, old))
    warn_of_job_spec("spec.jobTemplate.spec", object["spec"]["jobTemplate"]["spec"], warnings);
  if (!is_new(old) && object["spec"]["schedule"].text().find("TZ") != std::string_view::npos)
    warnings.emplace_back(
        "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see "
        "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details");
}

// --- services, networking ---

void warn_of_service(const Value& object, const Value&, Warnings& warnings) {
  const Value spec = object["spec"];
  const auto type = spec["type"].text();
  const bool is_external_name = type == "ExternalName";
  const bool is_headless = type == "ClusterIP" && spec["clusterIP"].text() == "None";
  if (object["metadata"]["annotations"].has("service.kubernetes.io/topology-aware-hints"))
    warnings.emplace_back(
        "annotation service.kubernetes.io/topology-aware-hints is deprecated, please use "
        "service.kubernetes.io/topology-mode instead");
  if (!is_headless && !is_external_name)
    warn_of_addresses("spec.clusterIPs", spec["clusterIPs"], warnings, warn_of_address);
  if (is_headless && !spec["loadBalancerIP"].text().empty())
    warnings.emplace_back("spec.loadBalancerIP is ignored for headless services");
  if (is_headless && !spec["externalIPs"].empty())
    warnings.emplace_back("spec.externalIPs is ignored for headless services");
  if (is_headless && spec["sessionAffinity"].text() != "None")
    warnings.emplace_back("spec.SessionAffinity is ignored for headless services");
  warn_of_addresses("spec.externalIPs", spec["externalIPs"], warnings, warn_of_address);
  if (!spec["externalIPs"].empty() && !is_headless && !is_external_name)
    warnings.emplace_back("spec.externalIPs is deprecated and may no longer be implemented in some clusters");
  warn_of_address("spec.loadBalancerIP", spec["loadBalancerIP"].text(), warnings);
  warn_of_addresses("spec.loadBalancerSourceRanges", spec["loadBalancerSourceRanges"], warnings, warn_of_range);
  if (is_external_name && !spec["externalIPs"].empty())
    warnings.emplace_back("spec.externalIPs is ignored when spec.type is \"ExternalName\"");
  if (!is_external_name && !spec["externalName"].text().empty())
    warnings.emplace_back("spec.externalName is ignored when spec.type is not \"ExternalName\"");
  if (spec["trafficDistribution"].text() == "PreferClose")
    warnings.emplace_back("spec.trafficDistribution: \"PreferClose\" is deprecated; use \"PreferSameZone\"");
}

void warn_of_load_balancer(const Value& object, const Value&, Warnings& warnings) {
  std::size_t index = 0;
  for (const Value ingress : object["status"]["loadBalancer"]["ingress"])
    warn_of_address(item("status.loadBalancer.ingress", index++), ingress["ip"].text(), warnings);
}

void warn_of_endpoints(const Value& object, const Value&, Warnings& warnings) {
  if (object["metadata"]["labels"]["endpoints.kubernetes.io/managed-by"].text() == "endpoint-controller") return;
  std::size_t index = 0;
  for (const Value subset : object["subsets"]) {
    const std::string at = item("subsets", index++);
    for (const std::string_view list : {"addresses", "notReadyAddresses"}) {
      std::size_t number = 0;
      for (const Value address : subset[list]) {
        const std::size_t position = number++;
        if (may_be_ipv6(address["ip"]))
          warn_of_address(child(item(child(at, list), position), "ip"), address["ip"].text(), warnings);
      }
    }
  }
}

void warn_of_endpoint_slice(const Value& object, const Value& old, Warnings& warnings) {
  if (is_new(old) && object["addressType"].text() == "FQDN")
    warnings.emplace_back("spec.addressType: FQDN endpoints are deprecated");
  const auto manager = object["metadata"]["labels"]["endpointslice.kubernetes.io/managed-by"].text();
  if (manager == "endpointslice-controller.k8s.io" || manager == "endpointslicemirroring-controller.k8s.io") return;
  std::size_t index = 0;
  for (const Value endpoint : object["endpoints"]) {
    const std::size_t position = index++;
    if (std::ranges::any_of(endpoint["addresses"], may_be_ipv6))
      warn_of_addresses(child(item("endpoints", position), "addresses"), endpoint["addresses"], warnings,
                        warn_of_address);
  }
}

void warn_of_ingress(const Value& object, const Value& old, Warnings& warnings) {
  if (is_new(old) && object["metadata"]["annotations"].has("kubernetes.io/ingress.class") &&
      !object["spec"].has("ingressClassName"))
    warnings.emplace_back(
        "annotation \"kubernetes.io/ingress.class\" is deprecated, please use 'spec.ingressClassName' instead");
}

void warn_of_network_policy(const Value& object, const Value&, Warnings& warnings) {
  struct Direction {
    std::string_view rules, peers;
  };
  for (const Direction& one : {Direction{"ingress", "from"}, Direction{"egress", "to"}}) {
    std::size_t rule_index = 0;
    for (const Value rule : object["spec"][one.rules]) {
      const std::string rule_path = item(child("spec", one.rules), rule_index++);
      std::size_t peer_index = 0;
      for (const Value peer : rule[one.peers]) {
        const std::string at = child(item(child(rule_path, one.peers), peer_index++), "ipBlock");
        warn_of_range(child(at, "cidr"), peer["ipBlock"]["cidr"].text(), warnings);
        warn_of_addresses(child(at, "except"), peer["ipBlock"]["except"], warnings, warn_of_range);
      }
    }
  }
}

// --- storage ---

constexpr std::string_view kBetaStorageClass = "volume.beta.kubernetes.io/storage-class",
                           kBetaMountOptions = "volume.beta.kubernetes.io/mount-options";

void warn_of_annotation(const Value& object, std::string_view name, std::string_view message, Warnings& warnings) {
  if (object["metadata"]["annotations"].has(name))
    warnings.push_back(keyed("metadata.annotations", name) + ": " + std::string(message));
}

void warn_of_claim(const Value& object, const Value&, Warnings& warnings) {
  warn_of_annotation(object, kBetaStorageClass, "deprecated since v1.8; use \"storageClassName\" attribute instead",
                     warnings);
  warn_of_claim_spec("spec", object["spec"], warnings);
}

void warn_of_volume(const Value& object, const Value&, Warnings& warnings) {
  struct Source {
    std::string_view field, shown, message;
  };
  constexpr Source kSources[] = {
      {"cephfs", "cephfs", "deprecated in v1.28, non-functional in v1.31+"},
      {"photonPersistentDisk", "photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"},
      {"scaleIO", "scaleIO", "deprecated in v1.16, non-functional in v1.22+"},
      {"storageos", "storageOS", "deprecated in v1.22, non-functional in v1.25+"},
      {"glusterfs", "glusterfs", "deprecated in v1.25, non-functional in v1.26+"},
      {"rbd", "rbd", "deprecated in v1.28, non-functional in v1.31+"},
  };
  warn_of_annotation(object, kBetaStorageClass, "deprecated since v1.8; use \"storageClassName\" attribute instead",
                     warnings);
  warn_of_annotation(object, kBetaMountOptions, "deprecated since v1.31; use \"mountOptions\" attribute instead",
                     warnings);
  const Value spec = object["spec"];
  if (spec["persistentVolumeReclaimPolicy"].text() == "Recycle")
    warnings.emplace_back(
        "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended "
        "approach is to use dynamic provisioning.");
  std::size_t index = 0;
  for (const Value term : spec["nodeAffinity"]["required"]["nodeSelectorTerms"])
    warn_of_node_selector_term(item("spec.nodeAffinity.required.nodeSelectorTerms", index++), term, false, warnings);
  for (const Source& source : kSources)
    if (spec.has(source.field)) warnings.push_back(child("spec", source.shown) + ": " + std::string(source.message));
}

void warn_of_csi_driver(const Value& object, const Value& old, Warnings& warnings) {
  const Value spec = object["spec"];
  if (spec["tokenRequests"].empty() || spec.has("serviceAccountTokenInSecrets")) return;
  if (is_new(old) || !spec["tokenRequests"].equals(old["spec"]["tokenRequests"]))
    warnings.emplace_back(
        "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible "
        "logging of tokens in volume attributes");
}

void warn_of_storage_class(const Value& object, const Value&, Warnings& warnings) {
  std::size_t index = 0;
  for (const Value topology : object["allowedTopologies"]) {
    const std::string at = item("allowedTopologies", index++);
    std::size_t number = 0;
    for (const Value expression : topology["matchLabelExpressions"]) {
      const std::string place = item(child(at, "matchLabelExpressions"), number++);
      if (const auto message = deprecated_node_label(expression["key"].text()); !message.empty())
        warnings.push_back(child(place, "key") + ": " + std::string(message));
    }
  }
}

void warn_of_storage_capacity(const Value& object, const Value&, Warnings& warnings) {
  const Value topology = object["nodeTopology"];
  warn_of_node_selector_term("nodeTopology", topology, false, warnings);
  for (const Value label : topology["matchLabels"])
    if (const auto message = deprecated_node_label(label.key()); !message.empty())
      warnings.push_back(child("nodeTopology.matchLabels", label.key()) + ": " + std::string(message));
}

// --- nodes, service accounts ---

void warn_of_node(const Value& object, const Value&, Warnings& warnings) {
  if (object["spec"].has("configSource")) warnings.emplace_back("spec.configSource: the feature is removed");
  if (!object["spec"]["externalID"].text().empty())
    warnings.emplace_back("spec.externalID: this field is deprecated, and is unused by Kubernetes");
  warn_of_addresses("spec.podCIDRs", object["spec"]["podCIDRs"], warnings, warn_of_range);
}

void warn_of_static_name(const Value& object, const Value&, Warnings& warnings) {
  if (object["metadata"]["name"].text().ends_with(".static.k8s.io"))
    warnings.emplace_back(
        "metadata.name: names ending with \".static.k8s.io\" are reserved for static manifest-based configurations and "
        "cannot be managed via the API");
}

void warn_of_resource_slice(const Value& object, const Value& old, Warnings& warnings) {
  const auto driver = object["spec"]["driver"].text();
  if (is_new(old) && to_lower(driver) != driver)
    warnings.push_back("spec.driver: driver names should be lowercase; " + go_quoted(driver) +
                       " contains uppercase characters");
}

void warn_of_runtime_class(const Value& object, const Value&, Warnings& warnings) {
  for (const Value label : object["scheduling"]["nodeSelector"])
    if (const auto message = deprecated_node_label(label.key()); !message.empty())
      warnings.push_back("scheduling.nodeSelector: " + std::string(message));
}

void warn_of_secret(const Value& object, const Value&, Warnings& warnings) {
  if (object["type"].text() != "kubernetes.io/tls") return;
  const auto text = [&](std::string_view key) {
    return schema::base64_decode(object["data"][key].text()).value_or("");
  };
  if (auto wrong = check_key_pair(text("tls.crt"), text("tls.key")); !wrong.empty())
    warnings.push_back(std::move(wrong));
}

void warn_of_service_account(const Value& object, const Value& old, Warnings& warnings) {
  constexpr std::string_view kMountable = "kubernetes.io/enforce-mountable-secrets";
  if (old["metadata"]["annotations"].has(kMountable)) return;
  warn_of_annotation(object, kMountable,
                     "deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets", warnings);
}

struct WarningRow {
  std::string_view group, resource, subresource;
  void (*warn)(const Value& object, const Value& old, Warnings& warnings);
};
constexpr WarningRow kWarnings[] = {
    {"", "endpoints", "", warn_of_endpoints},
    {"", "nodes", "", warn_of_node},
    {"", "persistentvolumeclaims", "", warn_of_claim},
    {"", "persistentvolumes", "", warn_of_volume},
    {"", "pods", "", warn_of_new_pod},
    {"", "podtemplates", "", warn_of_pod_template},
    {"", "replicationcontrollers", "", warn_of_named_workload},
    {"", "secrets", "", warn_of_secret},
    {"", "serviceaccounts", "", warn_of_service_account},
    {"", "services", "", warn_of_service},
    {"", "services", "status", warn_of_load_balancer},
    {"admissionregistration.k8s.io", "mutatingadmissionpolicies", "", warn_of_static_name},
    {"admissionregistration.k8s.io", "mutatingadmissionpolicybindings", "", warn_of_static_name},
    {"admissionregistration.k8s.io", "mutatingwebhookconfigurations", "", warn_of_static_name},
    {"admissionregistration.k8s.io", "validatingadmissionpolicies", "", warn_of_static_name},
    {"admissionregistration.k8s.io", "validatingadmissionpolicybindings", "", warn_of_static_name},
    {"admissionregistration.k8s.io", "validatingwebhookconfigurations", "", warn_of_static_name},
    {"apps", "daemonsets", "", warn_of_daemon_set},
    {"apps", "deployments", "", warn_of_named_workload},
    {"apps", "replicasets", "", warn_of_named_workload},
    {"apps", "statefulsets", "", warn_of_stateful_set},
    {"batch", "cronjobs", "", warn_of_cron_job},
    {"batch", "jobs", "", warn_of_job},
    {"discovery.k8s.io", "endpointslices", "", warn_of_endpoint_slice},
    {"networking.k8s.io", "ingresses", "", warn_of_ingress},
    {"networking.k8s.io", "ingresses", "status", warn_of_load_balancer},
    {"networking.k8s.io", "networkpolicies", "", warn_of_network_policy},
    {"node.k8s.io", "runtimeclasses", "", warn_of_runtime_class},
    {"resource.k8s.io", "resourceslices", "", warn_of_resource_slice},
    {"storage.k8s.io", "csidrivers", "", warn_of_csi_driver},
    {"storage.k8s.io", "csistoragecapacities", "", warn_of_storage_capacity},
    {"storage.k8s.io", "storageclasses", "", warn_of_storage_class},
};

}  // namespace

void warn_of_claim_spec(const std::string& path, const Value& spec, Warnings& warnings) {
  for (const std::string_view list : {"requests", "limits"})
    warn_of_fraction(keyed(child(child(path, "resources"), list), "storage"), spec["resources"][list]["storage"],
                     warnings);
}

Warnings warnings_of(std::string_view group, std::string_view resource, std::string_view subresource,
                     const Value& object, const Value& old) {
  Warnings warnings;
  for (const WarningRow& row : kWarnings)
    if (row.resource == resource && row.group == group && row.subresource == subresource)
      row.warn(object, old, warnings);
  return warnings;
}

void warn_of_address(const std::string& path, std::string_view text, Warnings& warnings) {
  const auto address = parse_ip(text);
  if (!address || !address->v6) return;
  const std::string canonical = ip_text(*address);
  constexpr std::string_view kMapped = "::ffff:";
  if (canonical.starts_with(kMapped) && canonical.find('.') != std::string::npos)
    warnings.push_back(path + ": non-standard IP address " + go_quoted(text) + " is invalid: use " +
                       go_quoted(canonical.substr(kMapped.size())));
  else if (canonical != text)
    warnings.push_back(path + ": IPv6 address " + go_quoted(text) + " should be in RFC 5952 canonical format (" +
                       go_quoted(canonical) + ")");
}

void warn_of_range(const std::string& path, std::string_view text, Warnings& warnings) {
  const auto slash = text.find('/');
  if (slash == std::string_view::npos) return;
  const auto address = parse_ip(text.substr(0, slash));
  int length = 0;
  const std::string_view digits = text.substr(slash + 1);
  const int length_max = address && address->v6 ? 128 : 32;
  if (std::from_chars(digits.data(), digits.data() + digits.size(), length).ec != std::errc() || !address ||
      length < 0 || length > length_max)
    return;
  IpAddress network = *address;
  for (int bit = length; bit < length_max; ++bit) {
    const auto at = static_cast<std::size_t>((address->v6 ? 0 : 96) + bit);
    network.bytes[at / 8] &= static_cast<unsigned char>(~(0x80U >> (at % 8)));
  }
  const std::string range = ip_text(network) + "/" + std::to_string(length);
  if (!(network == *address))
    warnings.push_back(path + ": CIDR value " + go_quoted(text) + " is ambiguous in this context (should be " +
                       go_quoted(range) + " or " + go_quoted(ip_text(*address) + "/" + std::to_string(length_max)) +
                       "?)");
  else if (address->v6 && range != text)
    warnings.push_back(path + ": IPv6 CIDR value " + go_quoted(text) + " should be in RFC 5952 canonical format (" +
                       go_quoted(range) + ")");
}

}  // namespace sublet::apiserver
