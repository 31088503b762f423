// What kinds beside pods need of the field table's `rewrite` and `clamp` rows, and pods of those kinds. Map:
// references, claims, selectors, bounds, steps of kinds, what comes from the host.
#include <algorithm>
#include <array>
#include <charconv>

#include "sublet/kube/selectors.h"
#include "sublet/syncer/host_name.h"
#include "syncer/translate/metadata.h"
#include "syncer/translate/rewrites.h"

namespace sublet::syncer {

using schema::Value;

// --- references ----------------------------------------------------------------------------------------------------

void rewrite_claim_name(Translation& translation, Value, Value field) {
  if (!translation.config().claims_to_host)
    return translation.deny("this virtual cluster's template does not carry PersistentVolumeClaims to the host");
  if (field.text().empty()) return;  // the API server refuses it
  translation.refer("PersistentVolumeClaim", field.text(), false);
  field.set(translation.host_name_of(field.text()));
}

void rewrite_device_claim_name(Translation& translation, Value parent, Value field) {
  if (!translation.config().device_claims_to_host)
    return translation.deny("this virtual cluster's template does not carry ResourceClaims to the host");
  rewrite_crossing_name(translation, parent, field);
}

void rewrite_device_template_name(Translation& translation, Value parent, Value field) {
  if (!translation.config().device_claim_templates_to_host)
    return translation.deny("this virtual cluster's template does not carry ResourceClaimTemplates to the host");
  rewrite_crossing_name(translation, parent, field);
}

void rewrite_group_name(Translation& translation, Value parent, Value field) {
  if (!translation.config().pod_groups_to_host)
    return translation.deny(
        "this virtual cluster's template does not carry PodGroups to the host (sync.toHost.podGroups.enabled)");
  if (translation.context().unserved_kinds.contains("PodGroup"))
    return translation.deny(
        "the host does not serve PodGroups of scheduling.k8s.io/v1alpha2, as Kubernetes 1.36 does with the feature "
        "gate "
        "GenericWorkload; ask whoever runs it");
  rewrite_crossing_name(translation, parent, field);
}

void rewrite_gate_name(Translation&, Value, Value field) { field.set(host_gate_name(field.text())); }

void keep_carried_workload(Translation& translation, Value parent, Value) {
  if (!translation.config().workloads_to_host) parent.erase("podGroupTemplateRef");
}

void rewrite_ephemeral_volume(Translation& translation, Value volume, Value) {
  const std::string claim = std::string(translation.tenant_name()) + "-" + volume["name"].string();
  volume.erase("ephemeral");
  Value source = volume.object("persistentVolumeClaim");
  source.clear();
  rewrite_claim_name(translation, source, source.put("claimName", claim));
}

void rewrite_storage_class(Translation& translation, Value, Value field) {
  if (translation.config().storage_classes_to_host && !field.text().empty())
    field.set(translation.cluster_name_of(field.text()));
}

void refuse_provisioner(Translation& translation, Value, Value field) {
  if (!translation.allowed().provisioners.match(field.text()))
    translation.deny("\"" + field.string() +
                     "\" may not make volumes for this virtual cluster; the platform's template can allow it "
                     "(allow.storageClasses.provisioners)");
}

// A driver reads them with its own rights: they name Secrets, servers and paths.
void refuse_class_parameters(Translation& translation, Value, Value field) {
  for (const Value parameter : field)
    if (!translation.allowed().class_parameters.match(parameter.key()))
      translation.deny(
          "parameters of a class name Secrets, servers and settings of the host; the platform's template "
          "can allow some (allow.storageClasses.parameters)",
          std::string(parameter.key()));
}

void rewrite_crossing_name(Translation& translation, Value, Value field) {
  if (!field.text().empty()) field.set(translation.host_name_of(field.text()));
}

// The classes that every cluster has are for what keeps the host itself alive.
void rewrite_priority_class(Translation& translation, Value parent, Value field) {
  const std::string name = field.string();
  const patches::SyncConfig& config = translation.config();
  const bool the_hosts_own = name.starts_with("system-");
  if (config.priority_classes_to_host && !the_hosts_own) return field.set(translation.cluster_name_of(name));
  if (config.priority_classes_from_host && !the_hosts_own) return;
  keep_allowed_priority_class(translation, parent, field);
}

// --- claims --------------------------------------------------------------------------------------------------------

void refuse_other_sources(Translation& translation, Value source) {
  const bool claim = source["kind"].text() == "PersistentVolumeClaim" && source["apiGroup"].text().empty();
  const bool snapshot = translation.config().snapshots_to_host && source["kind"].text() == "VolumeSnapshot" &&
                        source["apiGroup"].text() == "snapshot.storage.k8s.io";
  if (!claim && !snapshot && translation.config().snapshots_to_host)
    return translation.deny(
        "only another PersistentVolumeClaim or a VolumeSnapshot of the namespace can be the source of a claim", "kind");
  if (!claim && !snapshot)
    return translation.deny("only another PersistentVolumeClaim of the namespace can be the source of a claim", "kind");
  const Value other = source["namespace"];
  if (!other.text().empty() && other.text() != translation.tenant_namespace())
    translation.deny("the source of a claim must be of its namespace", "namespace");
}

namespace {
constexpr const char* kHostsVolumes = "volumes are the host's: name a storage class, and the host binds one";
}

// A volume that the host gave the claim is only told back; one that a tenant names could be another tenant's.
void refuse_volume_name(Translation& translation, Value parent, Value field) {
  if (translation.operation() == Operation::create && !field.text().empty() && !translation.config().volumes_to_host)
    translation.deny(kHostsVolumes);
  parent.erase("volumeName");
}

// By labels it is chosen in the tenant, before the claim crosses (to_host/volume_choice.cpp).
void refuse_volume_selector(Translation& translation, Value parent, Value) {
  if (!translation.config().volumes_to_host) translation.deny(kHostsVolumes);
  parent.erase("selector");
}

void name_volume_of_claim(const Translation& translation, Value host_claim) {
  const std::string_view name = translation.tenant()["spec"]["volumeName"].text();
  if (translation.config().volumes_to_host && !name.empty())
    host_claim.object("spec").put("volumeName", translation.cluster_name_of(name));
}

// --- volumes -------------------------------------------------------------------------------------------------------

namespace {

bool leads_up(std::string_view text) { return text.find("..") != std::string_view::npos; }

// "/a/." and "/a//b" are other words for what a pattern without them does not mean.
bool is_plain_path(std::string_view path) {
  return path.starts_with('/') && !path.ends_with('/') && !path.ends_with("/.") &&
         path.find("//") == std::string_view::npos && path.find("/./") == std::string_view::npos;
}

constexpr const char* kUp = "\"..\" could lead out of what the platform's template allows";

std::string may_not_be(const std::string& what, const char* key) {
  return "\"" + what + "\" may not be a volume of this virtual cluster; the platform's template can allow it " +
         "(allow.persistentVolumes." + key + ")";
}

}  // namespace

void refuse_volume_handle(Translation& translation, Value source, Value field) {
  const std::string volume = source["driver"].string() + "/" + field.string();
  if (!translation.allowed().csi_volumes.match(volume))
    translation.deny(may_not_be(volume, "csiVolumes"));
  else if (leads_up(volume))
    translation.deny(kUp);
}

// They may say as much about where the data are as the handle does.
void refuse_volume_attributes(Translation& translation, Value source, Value field) {
  for (const Value attribute : field) {
    const std::string key(attribute.key()), said = source["driver"].string() + "/" + key + "=" + attribute.string();
    if (!translation.allowed().csi_attributes.match(said))
      translation.deny(may_not_be(said, "csiAttributes"), key);
    else if (leads_up(attribute.text()))
      translation.deny(kUp, key);
  }
}

void refuse_nfs_path(Translation& translation, Value source, Value field) {
  const std::string server = source["server"].string(), place = server + ":" + field.string();
  if (server.find('/') != std::string::npos || !is_plain_path(field.text()) ||
      !translation.allowed().nfs_paths.match_path(place))
    translation.deny(may_not_be(place, "nfsPaths"));
  else if (leads_up(field.text()))
    translation.deny(kUp);
}

void refuse_file_system(Translation& translation, Value, Value field) {
  constexpr std::array<std::string_view, 5> kFileSystems{"", "ext3", "ext4", "xfs", "btrfs"};
  if (std::ranges::find(kFileSystems, field.text()) == kFileSystems.end())
    translation.deny("the nodes mount ext3, ext4, xfs and btrfs for tenants");
}

void refuse_recycling(Translation& translation, Value, Value field) {
  if (field.text() == "Recycle") translation.deny("use Retain or Delete: the host would empty it by a pod of its own");
}

void rewrite_volumes_claim(Translation& translation, Value, Value reference) {
  const std::string name = reference["name"].string(), space = reference["namespace"].string();
  if (!name.empty()) reference.put("name", host_name(name, space, translation.context().virtual_cluster));
  if (!space.empty()) reference.put("namespace", translation.context().host_namespace);
}

// --- selectors -----------------------------------------------------------------------------------------------------

// On the host all of a tenant's pods share one namespace, so a namespace is a label there. Which namespaces have the
// labels that a selector asks for is looked up in the tenant, and looked up again when they change.
void rewrite_policy_peer(Translation& translation, Value peer) {
  if (peer.has("ipBlock")) return;
  Value selector = peer.object("podSelector");
  translate_label_selector(selector);
  narrow_to_virtual_cluster(translation, selector);
  const Value namespaces = peer["namespaceSelector"];
  const bool selects = namespaces.is_object();
  if (selects && namespaces["matchLabels"].empty() && namespaces["matchExpressions"].empty()) return;  // all of them
  std::vector<std::string> names{std::string(translation.tenant_namespace())};
  if (selects) {
    const auto& selected = translation.context().namespaces_selected;
    names = selected ? selected(namespaces) : std::vector<std::string>();
    if (names.empty()) names.emplace_back();  // no pod has an empty one; a peer that goes could open all
  }
  Value expression = selector.array("matchExpressions").push_object();
  expression.put("key", kLabelTenantNamespace);
  expression.put("operator", "In");
  Value values = expression.array("values");
  for (const std::string& name : names) values.push(name);
}

// --- bounds --------------------------------------------------------------------------------------------------------

void clamp_priority(Translation& translation, Value, Value field) {
  const patches::SyncConfig& config = translation.config();
  field.set(std::clamp(field.integer(), config.priority_min, config.priority_max));
}

// --- steps of kinds ------------------------------------------------------------------------------------------------

// Host pods have no owners, and of such pods the host's disruption controller can only count how many there are: a
// share of them, or how many may be missing, is what the tenant's own has counted.
void count_budget(const Translation& translation, Value host_budget) {
  const Value status = translation.tenant()["status"];
  Value spec = host_budget["spec"];
  if (!spec.is_object() || spec["minAvailable"].is_integer() || !status.has("observedGeneration")) return;
  spec.erase("maxUnavailable");
  spec.put("minAvailable", status["desiredHealthy"].integer());
}

namespace {
constexpr std::string_view kSkipMirror = "endpointslice.kubernetes.io/skip-mirror";
constexpr std::string_view kServiceName = "kubernetes.io/service-name";
}  // namespace

void keep_mirroring_as_it_is(const Translation& translation, Value host_endpoints) {
  if (const Value skip = translation.tenant()["metadata"]["labels"][kSkipMirror])
    host_endpoints.object("metadata").object("labels").put(kSkipMirror, skip);
}

void name_service_of_slice(const Translation& translation, Value host_slice) {
  const std::string_view service = translation.tenant()["metadata"]["labels"][kServiceName].text();
  if (!service.empty())
    host_slice.object("metadata").object("labels").put(kServiceName, translation.host_name_of(service));
}

// --- what comes from the host --------------------------------------------------------------------------------------

namespace {

// Labels by which pods choose nodes, of Kubernetes and of what tells devices; others are the platform's own. A last '*'
// stands for any rest.
constexpr std::array<std::string_view, 15> kNodeLabels{
    "kubernetes.io/arch",
    "kubernetes.io/hostname",
    "kubernetes.io/os",
    "beta.kubernetes.io/*",
    "node.kubernetes.io/instance-type",
    "node.kubernetes.io/windows-build",
    "node-role.kubernetes.io/*",
    "topology.kubernetes.io/*",
    "failure-domain.beta.kubernetes.io/*",
    "feature.node.kubernetes.io/*",
    "nvidia.com/*",
    "amd.com/*",
    "gpu.intel.com/*",
    "habana.ai/*",
    "kai.scheduler/*",
};

bool key_matches(std::string_view pattern, std::string_view key) {
  return pattern.ends_with('*') ? key.starts_with(pattern.substr(0, pattern.size() - 1)) : key == pattern;
}

// Those that the template selects the nodes by: a tenant's pods are sent there by them.
bool selects_nodes(const patches::SyncConfig& config, std::string_view key) {
  const auto selector = kube::LabelSelector::parse(config.nodes_selector);
  return selector && std::ranges::any_of(selector->requirements(), [&](const auto& term) { return term.key == key; });
}

}  // namespace

void keep_shown_node_labels(Translation& translation, Value parent, Value field) {
  const patches::SyncConfig& config = translation.config();
  field.retain([&](Value label) {
    const auto allows = [&](std::string_view pattern) { return key_matches(pattern, label.key()); };
    return std::ranges::any_of(kNodeLabels, allows) || std::ranges::any_of(config.node_labels, allows) ||
           selects_nodes(config, label.key());
  });
  hide_nodes_in_labels(translation, parent, field);
}

void leave_blank(Translation&, Value, Value field) { field.set(""); }

void keep_equal_counts(Translation&, Value, Value hard) {
  constexpr std::array<std::string_view, 11> kAlike = {"pods",
                                                       "count/pods",
                                                       "cpu",
                                                       "memory",
                                                       "ephemeral-storage",
                                                       "services",
                                                       "count/services",
                                                       "services.nodeports",
                                                       "services.loadbalancers",
                                                       "persistentvolumeclaims",
                                                       "count/persistentvolumeclaims"};
  hard.retain([&](const Value& limit) {
    const std::string_view name = limit.key();
    return std::ranges::find(kAlike, name) != kAlike.end() || name.starts_with("requests.") ||
           name.starts_with("limits.") || name.find(".storageclass.storage.k8s.io/") != std::string_view::npos ||
           name.find(".deviceclass.resource.k8s.io/") != std::string_view::npos;
  });
  for (const char* services : {"services", "count/services"}) {
    const Value limit = hard[services];
    const std::string text = limit.string();
    std::int64_t count = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), count);
    if (!text.empty() && read.ec == std::errc() && read.ptr == text.data() + text.size())
      hard.put(services, std::to_string(count + 1));
  }
}

void keep_default_class(Translation&, Value, Value field) {
  field.retain([](Value entry) { return entry.key().ends_with(".kubernetes.io/is-default-class"); });
}

}  // namespace sublet::syncer
