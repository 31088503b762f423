#include <algorithm>
#include <set>

#include "apiserver/validation/names.h"
#include "apiserver/validation/pod_spec.h"
#include "apiserver/validation/resources.h"
#include "apiserver/validation/volume_sources.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

constexpr std::string_view kFileModeMessage = "must be a number between 0 and 0777 (octal), both inclusive";

void validate_mode(Causes& causes, const std::string& path, const Value& mode) {
  if (mode && (mode.integer() < 0 || mode.integer() > 0777)) invalid(causes, path, mode, kFileModeMessage);
}

void validate_file_path(Causes& causes, const std::string& path, std::string_view value) {
  if (value.empty()) return required(causes, path);
  validate_relative_path(causes, path, value);
  if (value.starts_with("..") && !value.starts_with("../")) invalid(causes, path, value, "must not start with '..'");
}

void validate_key_paths(Causes& causes, const std::string& path, const Value& items) {
  std::size_t index = 0;
  for (auto entry : items) {
    std::string at = item(path, index++);
    if (entry["key"].text().empty()) required(causes, child(at, "key"));
    validate_file_path(causes, child(at, "path"), entry["path"].text());
    validate_mode(causes, child(at, "mode"), entry["mode"]);
  }
}

constexpr std::string_view kFilePaths[] = {"metadata.annotations", "metadata.labels", "metadata.name",
                                           "metadata.namespace", "metadata.uid"};

void validate_downward_files(Causes& causes, const std::string& path, const Value& items) {
  // The paths are upstream's: they name the source, not the item.
  for (auto file : items) {
    validate_file_path(causes, child(path, "path"), file["path"].text());
    const bool field = file.has("fieldRef"), resource = file.has("resourceFieldRef");
    if (field) {
      validate_field_ref(causes, child(path, "fieldRef"), file["fieldRef"], kFilePaths);
      if (resource)
        invalid(causes, path, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously");
    } else if (resource) {
      validate_resource_field_ref(causes, child(path, "resourceFieldRef"), file["resourceFieldRef"], true);
    } else {
      required(causes, path, "one of fieldRef and resourceFieldRef is required");
    }
    validate_mode(causes, child(path, "mode"), file["mode"]);
  }
}

// Those behind gates of upstream's that are off do not count.
constexpr std::string_view kProjections[] = {"secret", "configMap", "downwardAPI", "serviceAccountToken"};

void validate_token_projection(Causes& causes, const std::string& path, const std::string& projected,
                               const Value& token) {
  auto seconds = token["expirationSeconds"].integer(3600);
  if (seconds < 600)
    invalid(causes, child(path, "expirationSeconds"), seconds, "may not specify a duration less than 10 minutes");
  if (seconds > (std::int64_t{1} << 32))
    invalid(causes, child(path, "expirationSeconds"), seconds, "may not specify a duration larger than 2^32 seconds");
  if (token["path"].text().empty())
    required(causes, child(projected, "path"));
  else
    validate_file_path(causes, child(projected, "path"), token["path"].text());
}

void validate_projected(Causes& causes, const std::string& path, const Value& projected) {
  validate_mode(causes, child(path, "defaultMode"), projected["defaultMode"]);
  std::set<std::string_view> paths;
  const auto meet = [&](std::string_view file, std::string_view shown) {
    if (!file.empty() && !paths.insert(file).second) invalid(causes, path, shown, "conflicting duplicate paths");
  };
  std::size_t index = 0;
  for (auto source : projected["sources"]) {
    std::string at = item(child(path, "sources"), index++);
    int count = 0;
    for (auto kind : kProjections) count += source.has(kind);
    if (count > 1) forbidden(causes, at, "may not specify more than 1 volume type per source");
    for (auto kind : {"secret", "configMap"}) {
      if (!source.has(kind)) continue;
      if (source[kind]["name"].text().empty()) required(causes, child(child(at, kind), "name"));
      validate_key_paths(causes, child(child(at, kind), "items"), source[kind]["items"]);
      for (auto file : source[kind]["items"]) meet(file["path"].text(), source[kind]["name"].text());
    }
    if (source.has("downwardAPI")) {
      validate_downward_files(causes, child(at, "downwardAPI"), source["downwardAPI"]["items"]);
      for (auto file : source["downwardAPI"]["items"]) meet(file["path"].text(), file["path"].text());
    }
    if (source.has("serviceAccountToken"))
      validate_token_projection(causes, child(at, "serviceAccountToken"), path, source["serviceAccountToken"]);
  }
}

constexpr std::string_view kHostPathTypes[] = {"",     "BlockDevice",  "CharDevice", "Directory", "DirectoryOrCreate",
                                               "File", "FileOrCreate", "Socket"};

/// The sources in the order in which upstream looks at them, the name under which it reports each, and the one that it
/// gives to a second of them.
struct PodVolumeSource {
  std::string_view member, reported = member, second = member;
};
constexpr PodVolumeSource kPodVolumeSources[] = {{"emptyDir"},
                                                 {"hostPath"},
                                                 {"gitRepo"},
                                                 {"gcePersistentDisk", "persistentDisk"},
                                                 {"awsElasticBlockStore"},
                                                 {"secret"},
                                                 {"nfs"},
                                                 {"iscsi"},
                                                 {"glusterfs"},
                                                 {"flocker"},
                                                 {"persistentVolumeClaim"},
                                                 {"rbd"},
                                                 {"cinder"},
                                                 {"cephfs", "cephfs", "cephFS"},
                                                 {"quobyte"},
                                                 {"downwardAPI", "downwardAPI", "downwarAPI"},
                                                 {"fc"},
                                                 {"flexVolume"},
                                                 {"configMap"},
                                                 {"azureFile"},
                                                 {"vsphereVolume"},
                                                 {"photonPersistentDisk"},
                                                 {"portworxVolume"},
                                                 {"azureDisk"},
                                                 {"storageos"},
                                                 {"projected"},
                                                 {"scaleIO"},
                                                 {"csi"},
                                                 {"ephemeral"},
                                                 {"image"}};

void validate_files(Causes& causes, const std::string& path, const Value& source, std::string_view name) {
  if (source[name].text().empty()) required(causes, child(path, name));
  validate_mode(causes, child(path, "defaultMode"), source["defaultMode"]);
  validate_key_paths(causes, child(path, "items"), source["items"]);
}

/// A claim that is made for the pod, and goes by both their names.
void validate_ephemeral_claim(Causes& causes, const std::string& path, const Value& source, std::string_view name,
                              const std::string& volume_path, const Value& metadata) {
  const auto claim = source["volumeClaimTemplate"];
  if (!claim)
    required(causes, child(path, "volumeClaimTemplate"));
  else
    validate_claim_template(causes, child(path, "volumeClaimTemplate"), claim);
  const auto pod = metadata["name"].text();
  if (pod.empty() || name.empty()) return;
  const auto claim_name = std::string(pod) + "-" + std::string(name);
  for (const auto& message : dns1123_subdomain(claim_name))
    invalid(causes, child(volume_path, "name"), name, "PVC name " + BadValue(claim_name).text() + ": " + message);
}

void validate_source(Causes& causes, const std::string& path, const Value& source, const PodVolumeSource& facts,
                     const HeldVolume& volume, const Value& metadata) {
  constexpr static std::string_view kPullPolicies[] = {"Always", "IfNotPresent", "Never"};
  const auto member = facts.member;
  if (member == "emptyDir") {
    if (source.has("sizeLimit") && quantity_nanos_of(source["sizeLimit"]) < 0)
      forbidden(causes, child(path, "sizeLimit"), "SizeLimit field must be a valid resource quantity");
  } else if (member == "secret") {
    validate_files(causes, path, source, "secretName");
  } else if (member == "configMap") {
    validate_files(causes, path, source, "name");
  } else if (member == "downwardAPI") {
    validate_mode(causes, child(path, "defaultMode"), source["defaultMode"]);
    validate_downward_files(causes, path, source["items"]);
  } else if (member == "projected") {
    validate_projected(causes, path, source);
  } else if (member == "ephemeral") {
    validate_ephemeral_claim(causes, path, source, volume.name, std::string(volume.path), metadata);
  } else if (member == "image") {
    if (metadata && source["reference"].text().empty()) required(causes, child(path, "reference"));
    if (const auto policy = source["pullPolicy"].text();
        !policy.empty() && std::ranges::find(kPullPolicies, policy) == std::end(kPullPolicies))
      not_supported(causes, child(path, "pullPolicy"), policy, kPullPolicies);
  } else {
    validate_volume_source(causes, path, source, member, volume);
  }
}

void validate_pod_volume_sources(Causes& causes, const std::string& path, const Value& volume, const Value& metadata) {
  int count = 0;
  for (const auto& facts : kPodVolumeSources) {
    const auto source = volume[facts.member];
    if (!source) continue;
    if (count++ > 0)
      forbidden(causes, child(path, facts.second), "may not specify more than 1 volume type");
    else
      validate_source(causes, child(path, facts.reported), source, facts,
                      {VolumeHolder::pod, volume["name"].text(), path}, metadata);
  }
  if (count == 0) required(causes, path, "must specify a volume type");
}

}  // namespace

bool steps_back(std::string_view path) {
  while (true) {
    const auto slash = path.find('/');
    if (path.substr(0, slash) == "..") return true;
    if (slash == std::string_view::npos) return false;
    path.remove_prefix(slash + 1);
  }
}

void validate_no_backsteps(Causes& causes, const std::string& path, std::string_view value) {
  if (steps_back(value)) invalid(causes, path, value, "must not contain '..'");
}

void validate_relative_path(Causes& causes, const std::string& path, std::string_view value) {
  if (value.starts_with('/')) invalid(causes, path, value, "must be a relative path");
  validate_no_backsteps(causes, path, value);
}

void validate_volume_path(Causes& causes, const std::string& path, const Value& source) {
  validate_no_backsteps(causes, child(path, "path"), source["path"].text());
  auto type = source["type"].text();
  if (std::find(std::begin(kHostPathTypes), std::end(kHostPathTypes), type) == std::end(kHostPathTypes))
    not_supported(causes, child(path, "type"), type, kHostPathTypes);
}

SoundVolumes validate_volumes(Causes& causes, const std::string& path, const Value& volumes, const Value& metadata) {
  SoundVolumes sound;
  std::set<std::string> made;  // claims that come with the pod
  if (const auto pod = metadata["name"].text(); !pod.empty())
    for (auto volume : volumes)
      if (volume.has("ephemeral")) made.insert(std::string(pod) + "-" + volume["name"].string());
  auto& names = sound.names;
  std::size_t index = 0;
  for (auto volume : volumes) {
    std::string at = item(path, index++);
    auto before = causes.size();
    validate_pod_volume_sources(causes, at, volume, metadata);
    auto name = volume["name"].text();
    if (name.empty())
      required(causes, child(at, "name"));
    else
      invalid_each(causes, child(at, "name"), name, dns1123_label(name));
    if (names.contains(name)) duplicate(causes, child(at, "name"), name);
    const bool is_sound = causes.size() == before;
    if (const auto claim = volume["persistentVolumeClaim"]["claimName"].text(); made.contains(std::string(claim)))
      invalid(causes, child(at, "persistentVolumeClaim.claimName"), claim,
              "must not reference a PVC that gets created for an ephemeral volume");
    if (!is_sound) continue;  // only sound volumes count, as upstream has it
    names.insert(name);
    if (volume.has("persistentVolumeClaim") || volume.has("ephemeral")) sound.claimed.insert(name);
  }
  return sound;
}

}  // namespace sublet::apiserver
