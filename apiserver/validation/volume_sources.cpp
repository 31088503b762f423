#include "apiserver/validation/volume_sources.h"

#include <algorithm>
#include <set>
#include <string>

#include "apiserver/validation/field_rules.h"
#include "apiserver/validation/names.h"
#include "apiserver/validation/pod_spec.h"
#include "apiserver/validation/resources.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

constexpr std::string_view kPartition = "must be between 1 and 255, inclusive",  // though 0 is none
    kLun = "must be between 0 and 255, inclusive",
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
constexpr FieldRule kCinderRules[] = {{"volumeID", must_be_set}, {"secretRef.name", must_be_set}};
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
                                         {"secretRef.name", must_be_set}};
constexpr FieldRule kSecretOfNamespace[] = {{"secretRef.namespace", must_be_set}};
constexpr FieldRule kCsiRules[] = {{"volumeHandle", must_be_set},
                                   required_name("controllerPublishSecretRef.name", dns1123_subdomain),
                                   required_name("controllerPublishSecretRef.namespace", dns1123_label),
                                   required_name("controllerExpandSecretRef.name", dns1123_subdomain),
                                   required_name("controllerExpandSecretRef.namespace", dns1123_label),
                                   required_name("nodePublishSecretRef.name", dns1123_subdomain),
                                   required_name("nodePublishSecretRef.namespace", dns1123_label),
                                   required_name("nodeExpandSecretRef.name", dns1123_subdomain),
                                   required_name("nodeExpandSecretRef.namespace", dns1123_label)};
constexpr FieldRule kIscsiRules[] = {
    {"targetPortal", must_be_set}, {"iqn", must_be_set}, {"lun", is_between, nullptr, 0, 255, {}, kLun}};
constexpr FieldRule kSecretName[] = {{"secretRef.name", must_be_set}};
// What only pods can have.
constexpr FieldRule kGitRules[] = {{"repository", must_be_set}};
constexpr FieldRule kClaimNameRules[] = {{"claimName", must_be_set}};

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
                                        {"iscsi", kIscsiRules},
                                        {"local", kPathRules},
                                        {"portworxVolume", kPortworxRules},
                                        {"photonPersistentDisk", kPhotonRules},
                                        {"gitRepo", kGitRules},
                                        {"persistentVolumeClaim", kClaimNameRules}};

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

void validate_initiator(Causes& causes, const std::string& field, std::string_view text, VolumeHolder holder) {
  const bool begun = text.starts_with("iqn") || text.starts_with("eui") || text.starts_with("naa");
  if (!begun && holder == VolumeHolder::pod)
    invalid(causes, field, text, "must be valid format starting with iqn, eui, or naa");
  else if (!is_initiator(text))
    invalid(causes, field, text, "must be valid format");
}

void validate_iscsi(Causes& causes, const std::string& path, const Value& iscsi, const HeldVolume& volume) {
  const auto portal = iscsi["targetPortal"].text(), iqn = iscsi["iqn"].text();
  const auto initiator = iscsi["initiatorName"];
  const bool of_pod = volume.holder == VolumeHolder::pod;
  if (!iqn.empty()) validate_initiator(causes, child(path, "iqn"), iqn, volume.holder);
  if ((iscsi["chapAuthDiscovery"].boolean() || iscsi["chapAuthSession"].boolean()) && !iscsi.has("secretRef"))
    required(causes, child(path, "secretRef"));
  if (!of_pod) check_rules(causes, path, iscsi, kSecretName);
  if (!initiator) return;
  validate_initiator(causes, child(path, "initiatorname"), initiator.text(), volume.holder);
  if (volume.name.size() + 1 + portal.size() <= 64) return;
  constexpr std::string_view kLong =
      "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is "
      "specified.";
  if (of_pod)
    invalid(causes, child(std::string(volume.path), "name"), volume.name, kLong);
  else
    invalid(causes, child(path, "targetportal"), portal, kLong);
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

/// What Kubernetes cannot do without of a CSI volume, in a pod.
void validate_inline_csi(Causes& causes, const std::string& path, const Value& csi) {
  const auto secret = csi["nodePublishSecretRef"];
  if (!secret) return;
  if (secret["name"].text().empty())
    required(causes, child(path, "nodePublishSecretRef.name"));
  else
    invalid_each(causes, child(path, "name"), secret["name"].text(), dns1123_subdomain(secret["name"].text()));
}

void validate_source_ways(Causes& causes, const std::string& path, const Value& source, std::string_view member,
                          const HeldVolume& volume) {
  const bool of_pod = volume.holder == VolumeHolder::pod;
  if (member == "local" || (member == "hostPath" && !source["path"].text().empty()))
    validate_volume_path(causes, path, source);
  if (member == "nfs" && !source["path"].text().starts_with('/'))
    invalid(causes, child(path, "path"), source["path"].text(), "must be an absolute path");
  if (member == "flocker") validate_flocker(causes, path, source);
  if (member == "fc") validate_fibre_channel(causes, path, source);
  if (member == "iscsi") validate_iscsi(causes, path, source, volume);
  if (member == "quobyte") validate_quobyte(causes, path, source);
  if (member == "glusterfs" && !of_pod) validate_gluster(causes, path, source);
  if (member == "flexVolume") validate_flex(causes, path, source);
  if (member == "azureDisk") validate_azure_disk(causes, path, source);
  if (member == "gitRepo") validate_relative_path(causes, child(path, "directory"), source["directory"].text());
  if (member == "csi") {
    validate_csi_driver_name(causes, child(path, "driver"), source["driver"].text());
    if (of_pod) return validate_inline_csi(causes, path, source);
    check_rules(causes, path, source, kCsiRules);
  }
  if ((member == "cinder" || member == "storageos") && !of_pod) check_rules(causes, path, source, kSecretOfNamespace);
  if (member == "azureFile" && !of_pod && source["secretNamespace"].is_string() &&
      source["secretNamespace"].text().empty())
    required(causes, child(path, "secretNamespace"));
}

}  // namespace

void validate_volume_source(Causes& causes, const std::string& path, const Value& source, std::string_view member,
                            const HeldVolume& volume) {
  for (const auto& own : kSourceRules)
    if (own.member == member) check_rules(causes, path, source, own.rules);
  validate_source_ways(causes, path, source, member, volume);
}

void validate_csi_driver_name(Causes& causes, const std::string& field, std::string_view name) {
  constexpr int kMax = 63;
  if (name.empty()) return required(causes, field);
  if (name.size() > kMax) too_long(causes, field, kMax);
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
  invalid_each(causes, field, name, dns1123_subdomain(lower));
}

}  // namespace sublet::apiserver
