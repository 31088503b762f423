#include "apiserver/strategies/volumes.h"

#include <algorithm>
#include <set>

#include "apiserver/request/members.h"
#include "apiserver/strategies/kind_facts.h"
#include "apiserver/validation/names.h"
#include "apiserver/validation/pod_spec.h"
#include "apiserver/validation/resources.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

constexpr std::string_view kAccessModes[] = {"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"},
                           kReclaimPolicies[] = {"Delete", "Recycle", "Retain"}, kModes[] = {"Block", "Filesystem"},
                           kStorage[] = {"storage"};

template <std::size_t N>
bool is_known(std::string_view text, const std::string_view (&choices)[N]) {
  return std::ranges::find(choices, text) != std::end(choices);
}

void validate_access_modes(Causes& causes, const std::string& field, const Value& modes, std::string_view words) {
  if (modes.empty()) required(causes, field, words);
  bool one_pod = false, others = false;
  for (auto mode : modes) {
    if (!is_known(mode.text(), kAccessModes))
      not_supported(causes, field, mode.text(), kAccessModes);
    else
      (mode.text() == "ReadWriteOncePod" ? one_pod : others) = true;
  }
  if (one_pod && others) forbidden(causes, field, "may not use ReadWriteOncePod with other access modes");
}

// --- what holds the data ---

/// The sources in the order in which upstream looks at them, and the name under which it reports each.
struct Source {
  std::string_view member, reported;
};
constexpr Source kSources[] = {{"hostPath", "hostPath"},
                               {"gcePersistentDisk", "persistentDisk"},
                               {"awsElasticBlockStore", "awsElasticBlockStore"},
                               {"glusterfs", "glusterfs"},
                               {"flocker", "flocker"},
                               {"nfs", "nfs"},
                               {"rbd", "rbd"},
                               {"quobyte", "quobyte"},
                               {"cephfs", "cephfs"},
                               {"iscsi", "iscsi"},
                               {"cinder", "cinder"},
                               {"fc", "fc"},
                               {"flexVolume", "flexVolume"},
                               {"azureFile", "azureFile"},
                               {"vsphereVolume", "vsphereVolume"},
                               {"photonPersistentDisk", "photonPersistentDisk"},
                               {"portworxVolume", "portworxVolume"},
                               {"azureDisk", "azureDisk"},
                               {"scaleIO", "scaleIO"},
                               {"local", "local"},
                               {"storageos", "storageos"},
                               {"csi", "csi"}};

constexpr std::string_view kPartition = "must be between 0 and 255, inclusive",
                           kRegistry = "must be a host:port pair or multiple pairs separated by commas",
                           kCachings[] = {"None", "ReadOnly", "ReadWrite"},
                           kDiskKinds[] = {"Dedicated", "Managed", "Shared"};
constexpr FieldRule kPathRules[] = {{"path", must_be_set}};
constexpr FieldRule kGceRules[] = {{"pdName", must_be_set}, {"partition", is_between, nullptr, 0, 255, {}, kPartition}};
constexpr FieldRule kAwsRules[] = {{"volumeID", must_be_set},
                                   {"partition", is_between, nullptr, 0, 255, {}, kPartition}};
constexpr FieldRule kGlusterRules[] = {{"endpoints", must_be_set}, {"path", must_be_set}};
constexpr FieldRule kNfsRules[] = {{"server", must_be_set}, {"path", must_be_set}};
constexpr FieldRule kRbdRules[] = {{"monitors", must_have_items}, {"image", must_be_set}};
constexpr FieldRule kQuobyteRules[] = {{"registry", must_be_set, nullptr, 0, 0, {}, kRegistry},
                                       {"volume", must_be_set}};
constexpr FieldRule kCephRules[] = {{"monitors", must_have_items}};
constexpr FieldRule kCinderRules[] = {
    {"volumeID", must_be_set}, {"secretRef.name", must_be_set}, {"secretRef.namespace", must_be_set}};
constexpr FieldRule kFlexRules[] = {{"driver", must_be_set}};
constexpr FieldRule kAzureFileRules[] = {{"secretName", must_be_set}, {"shareName", must_be_set}};
constexpr FieldRule kVsphereRules[] = {{"volumePath", must_be_set}};
constexpr FieldRule kPhotonRules[] = {{"pdID", must_be_set}};
constexpr FieldRule kPortworxRules[] = {{"volumeID", must_be_set}};
constexpr FieldRule kAzureDiskRules[] = {{"diskName", must_be_set},
                                         {"diskURI", must_be_set},
                                         choice_of("cachingMode", kCachings),
                                         choice_of("kind", kDiskKinds)};
constexpr FieldRule kScaleIoRules[] = {{"gateway", must_be_set}, {"system", must_be_set}, {"volumeName", must_be_set}};
constexpr FieldRule kStorageOsRules[] = {required_name("volumeName", dns1123_label),
                                         optional_name("volumeNamespace", dns1123_label),
                                         {"secretRef.name", must_be_set},
                                         {"secretRef.namespace", must_be_set}};
constexpr FieldRule kCsiRules[] = {{"volumeHandle", must_be_set},
                                   required_name("controllerPublishSecretRef.name", dns1123_subdomain),
                                   required_name("controllerPublishSecretRef.namespace", dns1123_label),
                                   required_name("controllerExpandSecretRef.name", dns1123_subdomain),
                                   required_name("controllerExpandSecretRef.namespace", dns1123_label),
                                   required_name("nodePublishSecretRef.name", dns1123_subdomain),
                                   required_name("nodePublishSecretRef.namespace", dns1123_label),
                                   required_name("nodeExpandSecretRef.name", dns1123_subdomain),
                                   required_name("nodeExpandSecretRef.namespace", dns1123_label)};
constexpr FieldRule kIscsiRules[] = {{"targetPortal", must_be_set},
                                     {"iqn", must_be_set},
                                     {"lun", is_between, nullptr, 0, 255, {}, kPartition},
                                     {"secretRef.name", must_be_set}};

struct SourceRules {
  std::string_view member;
  std::span<const FieldRule> rules;
};
constexpr SourceRules kSourceRules[] = {{"hostPath", kPathRules},
                                        {"gcePersistentDisk", kGceRules},
                                        {"awsElasticBlockStore", kAwsRules},
                                        {"glusterfs", kGlusterRules},
                                        {"nfs", kNfsRules},
                                        {"rbd", kRbdRules},
                                        {"quobyte", kQuobyteRules},
                                        {"cephfs", kCephRules},
                                        {"cinder", kCinderRules},
                                        {"flexVolume", kFlexRules},
                                        {"azureFile", kAzureFileRules},
                                        {"vsphereVolume", kVsphereRules},
                                        {"azureDisk", kAzureDiskRules},
                                        {"scaleIO", kScaleIoRules},
                                        {"storageos", kStorageOsRules},
                                        {"csi", kCsiRules},
                                        {"iscsi", kIscsiRules},
                                        {"local", kPathRules},
                                        {"portworxVolume", kPortworxRules},
                                        {"photonPersistentDisk", kPhotonRules}};

void validate_flocker(Causes& causes, const std::string& path, const Value& flocker) {
  const auto name = flocker["datasetName"].text(), id = flocker["datasetUUID"].text();
  if (name.empty() && id.empty()) required(causes, path, "one of datasetName and datasetUUID is required");
  if (!name.empty() && !id.empty())
    invalid(causes, path, "resource", "datasetName and datasetUUID can not be specified simultaneously");
  if (name.find('/') != std::string_view::npos)
    invalid(causes, child(path, "datasetName"), name, "must not contain '/'");
}

void validate_fibre_channel(Causes& causes, const std::string& path, const Value& channel) {
  const auto names = channel["targetWWNs"], ids = channel["wwids"], lun = channel["lun"];
  const auto at = child(path, "targetWWNs");
  if (names.empty() && ids.empty()) required(causes, at, "must specify either targetWWNs or wwids, but not both");
  if (!names.empty() && !ids.empty())
    invalid(causes, at, names, "targetWWNs and wwids can not be specified simultaneously");
  if (names.empty()) return;
  if (!lun)
    required(causes, child(path, "lun"), "lun is required if targetWWNs is specified");
  else
    invalid_each(causes, child(path, "lun"), lun.integer(), in_range(lun.integer(), 0, 255));
}

bool is_alnum(char c) { return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// "iqn.2001-04.com.example:storage".
bool is_iqn(std::string_view text) {
  if (text.size() < 12) return false;
  for (std::size_t i = 0; i < 8; ++i) {
    const bool fits = i == 4 ? text[4 + i] == '-' : i == 7 ? text[4 + i] == '.' : is_digit(text[4 + i]);
    if (!fits) return false;
  }
  if (text[3] != '.') return false;
  const auto rest = text.substr(12);
  const auto colon = rest.find(':');
  if (colon == std::string_view::npos || colon == 0 || colon + 1 == rest.size()) return false;
  const auto authority = rest.substr(0, colon);
  return std::ranges::all_of(authority, [](char c) { return is_alnum(c) || c == '-' || c == '.'; }) &&
         rest.find_first_of(",;*&$| \t\n\r\f\v", colon) == std::string_view::npos;
}

bool is_initiator(std::string_view text) {
  if (text.starts_with("iqn")) return is_iqn(text);
  const std::size_t digits = text.starts_with("eui") ? 16 : text.starts_with("naa") ? 32 : 0;
  return digits != 0 && text.size() == digits + 4 && std::ranges::all_of(text.substr(4), is_alnum);
}

void validate_iscsi(Causes& causes, const std::string& path, const Value& iscsi, std::string_view volume_name) {
  const auto portal = iscsi["targetPortal"].text(), iqn = iscsi["iqn"].text();
  const auto initiator = iscsi["initiatorName"];
  if (initiator && volume_name.size() + 1 + portal.size() > 64)
    invalid(causes, child(path, "targetportal"), portal,
            "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is "
            "specified.");
  if (!iqn.empty() && !is_initiator(iqn)) invalid(causes, child(path, "iqn"), iqn, "must be valid format");
  if ((iscsi["chapAuthDiscovery"].boolean() || iscsi["chapAuthSession"].boolean()) && !iscsi.has("secretRef"))
    required(causes, child(path, "secretRef"));
  if (initiator && !is_initiator(initiator.text()))
    invalid(causes, child(path, "initiatorname"), initiator.text(), "must be valid format");
}

void validate_quobyte(Causes& causes, const std::string& path, const Value& quobyte) {
  const auto registry = quobyte["registry"].text();
  if (registry.empty()) return;
  if (quobyte["tenant"].text().size() >= 65)
    return required(causes, child(path, "tenant"), "must be a UUID and may not exceed a length of 64 characters");
  std::string_view rest = registry;
  for (bool more = true; more;) {
    const auto comma = rest.find(',');
    const auto pair = rest.substr(0, comma);
    const auto colon = pair.find(':');
    if (colon == std::string_view::npos || pair.find(':', colon + 1) != std::string_view::npos)
      invalid(causes, child(path, "registry"), registry, kRegistry);
    more = comma != std::string_view::npos;
    rest.remove_prefix(more ? comma + 1 : rest.size());
  }
}

void validate_gluster(Causes& causes, const std::string& path, const Value& gluster) {
  const auto name = gluster["endpointsNamespace"];
  if (!name) return;
  const auto at = child(path, "endpointsNamespace");
  if (name.text().empty())
    invalid(causes, at, "", "if the endpointnamespace is set, it must be a valid namespace name");
  else
    invalid_each(causes, at, name.text(), dns1123_label(name.text()));
}

void validate_flex(Causes& causes, const std::string& path, const Value& flex) {
  for (auto option : flex["options"]) {
    auto space = "." + std::string(option.key().substr(0, option.key().find('/')));
    std::ranges::transform(space, space.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
    if (space.ends_with(".kubernetes.io") || space.ends_with(".k8s.io"))
      invalid(causes, keyed(child(path, "options"), option.key()), option.key(),
              "kubernetes.io and k8s.io namespaces are reserved");
  }
}

void validate_azure_disk(Causes& causes, const std::string& path, const Value& disk) {
  constexpr static std::string_view kManaged[] =
      {"/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/"
       "microsoft.compute/disks/{disk-id}"},
                                    kBlob[] = {
                                        "https://{account-name}.blob.core.windows.net/{container-name}/"
                                        "{disk-name}.vhd"};
  const auto kind = disk["kind"].text(), uri = disk["diskURI"].text();
  if (kind == "Managed" && !uri.starts_with("/subscriptions/"))
    not_supported(causes, child(path, "diskURI"), uri, kManaged);
  if (disk.has("kind") && kind != "Managed" && !uri.starts_with("https://"))
    not_supported(causes, child(path, "diskURI"), uri, kBlob);
}

void validate_source_ways(Causes& causes, const std::string& path, const Value& source, std::string_view member,
                          std::string_view volume_name) {
  if (member == "hostPath" || member == "local") validate_volume_path(causes, path, source);
  if (member == "nfs" && !source["path"].text().starts_with('/'))
    invalid(causes, child(path, "path"), source["path"].text(), "must be an absolute path");
  if (member == "flocker") validate_flocker(causes, path, source);
  if (member == "fc") validate_fibre_channel(causes, path, source);
  if (member == "iscsi") validate_iscsi(causes, path, source, volume_name);
  if (member == "quobyte") validate_quobyte(causes, path, source);
  if (member == "glusterfs") validate_gluster(causes, path, source);
  if (member == "flexVolume") validate_flex(causes, path, source);
  if (member == "azureDisk") validate_azure_disk(causes, path, source);
  if (member == "csi") validate_csi_driver_name(causes, child(path, "driver"), source["driver"].text());
  if (member == "azureFile" && source.has("secretNamespace") && source["secretNamespace"].text().empty())
    required(causes, child(path, "secretNamespace"));
}

void validate_sources(Causes& causes, const std::string& path, const Value& spec, std::string_view volume_name) {
  int count = 0;
  for (const auto& facts : kSources) {
    const auto source = spec[facts.member];
    if (!source) continue;
    const std::string_view twice = facts.member == "cephfs" ? "cephFS" : facts.member;
    if (count++ > 0 && facts.member != "flexVolume") {
      forbidden(causes, child(path, twice), "may not specify more than 1 volume type");
      continue;
    }
    const auto at = child(path, facts.reported);
    for (const auto& own : kSourceRules)
      if (own.member == facts.member) check_rules(causes, at, source, own.rules);
    validate_source_ways(causes, at, source, facts.member, volume_name);
  }
  if (count == 0) required(causes, path, "must specify a volume type");
}

// --- PersistentVolume ---

void validate_capacity(Causes& causes, const std::string& path, const Value& capacity) {
  if (capacity.empty()) required(causes, path);
  if (!capacity.has("storage") || capacity.size() > 1)
    not_supported(causes, path, capacity ? BadValue(capacity) : BadValue::raw("null"), kStorage);
  for (auto quantity : capacity) {
    const auto at = keyed(path, quantity.key());
    const auto nanos = quantity_nanos_of(quantity);
    if (nanos <= -1'000'000'000)
      invalid(causes, at, static_cast<std::int64_t>(nanos / 1'000'000'000), "must be a valid resource quantity");
    if (nanos <= 0) invalid(causes, at, quantity, "must be greater than zero");
  }
}

void validate_inline_only(Causes& causes, const std::string& path, const Value& spec) {
  for (auto field : {"claimRef", "capacity", "nodeAffinity", "storageClassName"}) {
    const auto value = spec[field];
    if (value && !(value.is_string() ? value.text().empty()
                                     : value.is_object() && value.empty() && std::string_view(field) == "capacity"))
      forbidden(causes, child(path, field), "may not be specified in the context of inline volumes");
  }
  if (!spec.has("csi")) required(causes, child(path, "csi"), "has to be specified in the context of inline volumes");
  if (const auto policy = spec["persistentVolumeReclaimPolicy"].text(); !policy.empty() && policy != "Retain")
    forbidden(causes, child(path, "persistentVolumeReclaimPolicy"),
              "may only be Retain in the context of inline volumes");
  if (const auto mode = spec["volumeMode"]; mode && mode.text() != "Filesystem")
    forbidden(causes, child(path, "volumeMode"),
              "may not specify volumeMode other than Filesystem in the context of inline volumes");
}

constexpr FieldRule kVolumeRules[] = {choice_of("volumeMode", kModes),
                                      optional_name("storageClassName", dns1123_subdomain)};

void validate_own_volume(Causes& causes, const std::string& path, const Value& spec) {
  validate_capacity(causes, child(path, "capacity"), spec["capacity"]);
  const auto policy = spec["persistentVolumeReclaimPolicy"].text();
  if (!policy.empty() && !is_known(policy, kReclaimPolicies))
    not_supported(causes, child(path, "persistentVolumeReclaimPolicy"), policy, kReclaimPolicies);
  const auto affinity = spec["nodeAffinity"];
  const auto at = child(path, "nodeAffinity");
  if (affinity && !affinity.has("required"))
    required(causes, child(at, "required"), "must specify required node constraints");
  if (affinity.has("required")) validate_node_selector(causes, child(at, "required"), affinity["required"]);
  if (spec.has("local") && !affinity) required(causes, at, "Local volume requires node affinity");
  check_rules(causes, path, spec, kVolumeRules);
}

constexpr DefaultFact kPersistentVolume[] = {{"status.phase", "\"Pending\""},
                                             {"spec.persistentVolumeReclaimPolicy", "\"Retain\""},
                                             {"spec.volumeMode", "\"Filesystem\""},
                                             {"spec.hostPath?.type", "\"\""},
                                             {"spec.iscsi?.iscsiInterface", "\"default\""},
                                             {"spec.rbd?.pool", "\"rbd\""},
                                             {"spec.rbd?.user", "\"admin\""},
                                             {"spec.rbd?.keyring", "\"/etc/ceph/keyring\""},
                                             {"spec.scaleIO?.storageMode", "\"ThinProvisioned\""},
                                             {"spec.scaleIO?.fsType", "\"xfs\""},
                                             {"spec.azureDisk?.cachingMode", "\"ReadWrite\""},
                                             {"spec.azureDisk?.kind", "\"Shared\""},
                                             {"spec.azureDisk?.fsType", "\"ext4\""},
                                             {"spec.azureDisk?.readOnly", "false"}};

void validate_volume(const Value& object, Causes& causes) {
  validate_volume_spec(causes, "spec", object["spec"], object["metadata"]["name"].text(), false);
}

void validate_volume_update(const Value& object, const Value& old, Causes& causes) {
  auto stored = schema::Document::copy_of(old);
  defaults_from<kPersistentVolume>(stored.root());  // it may be older than some of the defaults
  const auto spec = object["spec"], before = stored["spec"];
  bool same = true;
  for (const auto& facts : kSources) {
    auto now = schema::Document::copy_of(spec[facts.member]);
    if (facts.member == "csi" && before["csi"] && !before["csi"].has("controllerExpandSecretRef") && spec["csi"])
      now.root().erase("controllerExpandSecretRef");
    same = same && spec.has(facts.member) == before.has(facts.member) &&
           (!spec.has(facts.member) || semantically_equal(now.root(), before[facts.member]));
  }
  if (!same)
    forbidden(causes, "spec.persistentvolumesource", "spec.persistentvolumesource is immutable after creation");
  immutable(causes, "volumeMode", spec["volumeMode"], before["volumeMode"]);
  if (before.has("nodeAffinity") && !semantically_equal(spec["nodeAffinity"], before["nodeAffinity"]))
    invalid(causes, "nodeAffinity", spec["nodeAffinity"] ? BadValue(spec["nodeAffinity"]) : BadValue::raw("null"),
            "field is immutable, except for updating from beta label to GA");
  if (before.has("volumeAttributesClassName") && !spec.has("volumeAttributesClassName"))
    forbidden(causes, "spec.volumeAttributesClassName", "update from non-nil value to nil is forbidden");
}

Outcome pending_phase(WriteContext& context, Value object) {
  auto status = object.object("status");
  status.clear();
  status.put("phase", "Pending");
  if (!context.resource.namespaced) status.put("lastPhaseTransitionTime", format_time(context.clock.now()));
  return {};
}

/// When the phase last changed, unless the writer says it.
Outcome prepare_volume_status(WriteContext& context, Value object, const Value& old) {
  if (auto kept = keep_other_members(context, object, old); !kept) return kept;
  auto status = object.object("status");
  const auto before = old["status"];
  const bool same_phase = status["phase"].text() == before["phase"].text();
  const auto said = status["lastPhaseTransitionTime"].text();
  if (same_phase && said.empty())
    copy_field(status, before, "lastPhaseTransitionTime");
  else if (!same_phase && (said.empty() || said == before["lastPhaseTransitionTime"].text()))
    status.put("lastPhaseTransitionTime", format_time(context.clock.now()));
  return {};
}

// --- PersistentVolumeClaim ---

/// Sources that upstream overlooks: of a kind that the old field never named, or of another namespace.
void drop_data_sources(Value spec, const Value& old) {
  if (!spec["dataSourceRef"]["namespace"].text().empty() && !old.has("dataSourceRef")) spec.erase("dataSourceRef");
  if (old.has("dataSource") || old.has("dataSourceRef") || !spec.has("dataSource")) return;
  const auto source = spec["dataSource"];
  const auto group = source["apiGroup"].text(), kind = source["kind"].text();
  const bool known = (group.empty() && kind == "PersistentVolumeClaim") ||
                     (group == "snapshot.storage.k8s.io" && kind == "VolumeSnapshot");
  if (!known) spec.erase("dataSource");
}

/// The old field and the new one for where the data comes from say the same.
void copy_data_source(Value spec) {
  const auto source = spec["dataSource"], reference = spec["dataSourceRef"];
  const bool old_way = source && !reference, new_way = reference && !source;
  if (!old_way && !(new_way && reference["namespace"].text().empty())) return;
  const auto from = old_way ? source : reference;
  auto to = spec.object(old_way ? "dataSourceRef" : "dataSource");
  for (auto field : {"apiGroup", "kind", "name"})
    if (from.has(field)) to.put(field, from[field]);
}

Outcome prepare_claim(WriteContext& context, Value object) {
  if (object.has("spec")) {
    drop_data_sources(object["spec"], Value());
    copy_data_source(object["spec"]);
  }
  return pending_phase(context, object);
}

Outcome prepare_claim_update(WriteContext& context, Value object, const Value& old) {
  if (object.has("spec")) {
    drop_data_sources(object["spec"], old["spec"]);
    copy_data_source(object["spec"]);
  }
  return keep_status(context, object, old);
}

constexpr DefaultFact kPersistentVolumeClaim[] = {{"status.phase", "\"Pending\""},
                                                  {"spec.volumeMode", "\"Filesystem\""}};

void validate_data_source(Causes& causes, const std::string& path, const Value& source, bool known_group) {
  for (auto field : {"name", "kind"})
    if (source[field].text().empty()) required(causes, child(path, field));
  const auto group = source["apiGroup"].text(), kind = source["kind"].text();
  if (group.empty() && kind != "PersistentVolumeClaim")
    invalid(causes, path, kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup");
  if (!group.empty() && !known_group) invalid_each(causes, child(path, "apiGroup"), group, dns1123_subdomain(group));
  if (const auto name = source["namespace"].text(); !name.empty())
    invalid_each(causes, child(path, "namespace"), name, dns1123_label(name));
}

bool is_same_source(const Value& source, const Value& reference) {
  return source.has("apiGroup") == reference.has("apiGroup") &&
         std::ranges::all_of(std::initializer_list<std::string_view>{"apiGroup", "kind", "name"},
                             [&](auto field) { return source[field].text() == reference[field].text(); });
}

void validate_data_sources(Causes& causes, const std::string& path, const Value& spec, bool known_group) {
  const auto source = spec["dataSource"], reference = spec["dataSourceRef"];
  if (source) validate_data_source(causes, child(path, "dataSource"), source, known_group);
  if (reference) validate_data_source(causes, child(path, "dataSourceRef"), reference, known_group);
  if (!source || !reference) return;
  // The bad value is a Go structure of upstream's own that prints as {}.
  if (!reference["namespace"].text().empty())
    invalid(causes, path, BadValue::raw("{}"), "may not be specified when dataSourceRef.namespace is specified");
  else if (!is_same_source(source, reference))
    invalid(causes, path, BadValue::raw("{}"), "must match dataSourceRef");
}

constexpr FieldRule kClaimRules[] = {{"selector", is_selector},
                                     optional_name("storageClassName", dns1123_subdomain),
                                     choice_of("volumeMode", kModes),
                                     optional_name("volumeAttributesClassName", dns1123_subdomain)};

void validate_claim(const Value& object, Causes& causes) { validate_claim_spec(causes, "spec", object["spec"], false); }

/// The claim's spec with what may change put back.
schema::Document unchangeable_part(const Value& object, const Value& old) {
  auto spec = schema::Document::copy_of(object["spec"]);
  auto root = spec.root();
  const auto before = old["spec"];
  if (before["volumeName"].text().empty()) root.erase("volumeName");
  const auto known = old["metadata"]["annotations"]["volume.beta.kubernetes.io/storage-class"];
  if (!before.has("storageClassName") && root.has("storageClassName") &&
      (!known || known.text() == root["storageClassName"].text()))
    root.erase("storageClassName");
  if (object["status"]["phase"].text() != "Bound") return spec;
  if (root["resources"].has("requests"))
    copy_field(root["resources"]["requests"], before["resources"]["requests"], "storage");
  copy_field(root, before, "volumeAttributesClassName");
  return spec;
}

void validate_claim_update(const Value& object, const Value& old, Causes& causes) {
  auto stored = schema::Document::copy_of(old["spec"]);
  if (stored.root().is_object()) copy_data_source(stored.root());  // it may be older than the second of the fields
  const auto spec = object["spec"], before = stored.root();
  if (!semantically_equal(unchangeable_part(object, old).root(), before))
    forbidden(causes, "spec",
              "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound "
              "claims");
  const auto size = spec["resources"]["requests"]["storage"], was = before["resources"]["requests"]["storage"];
  if (compare_quantities(size, was) < 0 && compare_quantities(size, old["status"]["capacity"]["storage"]) <= 0)
    forbidden(causes, "spec.resources.requests.storage", "field can not be less than status.capacity");
  immutable(causes, "volumeMode", spec["volumeMode"], before["volumeMode"]);
  if (!old["status"].has("currentVolumeAttributesClassName")) return;
  const auto attributes = spec["volumeAttributesClassName"];
  const std::string_view what = !attributes ? "nil" : attributes.text().empty() ? "empty string" : "";
  if (!what.empty() && !semantically_equal(attributes, before["volumeAttributesClassName"]))
    forbidden(
        causes, "spec.volumeAttributesClassName",
        "update to " + std::string(what) + " is forbidden when status.currentVolumeAttributesClassName is not nil");
}

constexpr std::string_view kResizeStates[] = {"ControllerResizeInProgress", "ControllerResizeInfeasible",
                                              "NodeResizeInProgress", "NodeResizeInfeasible", "NodeResizePending"};

/// Only storage, or a resource of somebody's own domain.
bool is_claim_resource(Causes& causes, const std::string& path, std::string_view name) {
  const auto messages = qualified_name(name);
  invalid_each(causes, path, name, messages);
  if (!messages.empty()) return false;
  const bool native = name.find('/') == std::string_view::npos || name.find("kubernetes.io/") != std::string_view::npos;
  if (!native || name == "storage") return true;
  not_supported(causes, path, name, kStorage);
  return false;
}

void validate_amount(Causes& causes, const std::string& field, const Value& quantity) {
  const auto nanos = quantity_nanos_of(quantity);
  if (nanos <= -1'000'000'000)
    invalid(causes, field, static_cast<std::int64_t>(nanos / 1'000'000'000), "must be a valid resource quantity");
}

void validate_claim_status(const Value& object, const Value&, Causes& causes) {
  const auto status = object["status"];
  for (auto quantity : status["capacity"]) validate_amount(causes, keyed("status.capacity", quantity.key()), quantity);
  for (auto state : status["allocatedResourceStatuses"]) {
    is_claim_resource(causes, "status.allocatedResourceStatuses", state.key());
    if (!is_known(state.text(), kResizeStates))
      not_supported(causes, "status.allocatedResourceStatuses", state.key(), kResizeStates);
  }
  for (auto quantity : status["allocatedResources"])
    if (is_claim_resource(causes, "status.allocatedResources", quantity.key()))
      validate_amount(causes, keyed("status.allocatedResources", quantity.key()), quantity);
}

constexpr KindFacts kKinds[] = {
    {"", "persistentvolumes", defaults_from<kPersistentVolume>, kReturnsDeleted, NameRule::dns_subdomain,
     validate_volume, validate_volume_update},
    {"", "persistentvolumeclaims", defaults_from<kPersistentVolumeClaim>, kReturnsDeleted, NameRule::dns_subdomain,
     validate_claim, validate_claim_update, validate_claim_status}};

}  // namespace

void validate_csi_driver_name(Causes& causes, const std::string& field, std::string_view name) {
  constexpr int kMax = 63;
  if (name.empty()) return required(causes, field);
  if (name.size() > kMax) too_long(causes, field, kMax);
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
  invalid_each(causes, field, name, dns1123_subdomain(lower));
}

void validate_volume_spec(Causes& causes, const std::string& path, const Value& spec, std::string_view name,
                          bool inline_volume) {
  if (inline_volume)
    validate_inline_only(causes, path, spec);
  else
    validate_own_volume(causes, path, spec);
  validate_access_modes(causes, child(path, "accessModes"), spec["accessModes"], {});
  validate_sources(causes, path, spec, name);
  const auto attributes = spec["volumeAttributesClassName"];
  if (!attributes) return;
  const auto at = child(path, "volumeAttributesClassName");
  if (attributes.text().empty())
    required(causes, at, "an empty string is disallowed");
  else
    invalid_each(causes, at, attributes.text(), dns1123_subdomain(attributes.text()));
  if (!spec.has("csi"))
    required(causes, child(path, "csi"), "has to be specified when using volumeAttributesClassName");
}

void validate_claim_spec(Causes& causes, const std::string& path, const Value& spec, bool known_group) {
  validate_access_modes(causes, child(path, "accessModes"), spec["accessModes"], "at least 1 access mode is required");
  const auto storage = spec["resources"]["requests"]["storage"];
  const auto at = keyed(child(path, "resources"), "storage");
  if (!storage)
    required(causes, at);
  else if (quantity_nanos_of(storage) <= 0)
    invalid(causes, at, storage, "must be greater than zero");
  check_rules(causes, path, spec, kClaimRules);
  validate_data_sources(causes, path, spec, known_group);
}

std::vector<Strategy> volume_strategies() {
  std::vector<Strategy> rows;
  for (const auto& facts : kKinds) rows.push_back(row_of(facts));
  rows[0].prepare_create = pending_phase;
  rows[0].prepare_status_update = prepare_volume_status;
  rows[1].prepare_create = prepare_claim;
  rows[1].prepare_update = prepare_claim_update;
  return rows;
}

}  // namespace sublet::apiserver
