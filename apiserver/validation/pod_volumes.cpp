#include <algorithm>
#include <set>

#include "apiserver/validation/names.h"
#include "apiserver/validation/pod_spec.h"
#include "apiserver/validation/resources.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

constexpr std::string_view kFileModeMessage = "must be a number between 0 and 0777 (octal), both inclusive";

/// Fields that a volume source cannot be without.
struct RequiredField {
  std::string_view source, field;
};
constexpr RequiredField kRequiredFields[] = {{"hostPath", "path"},
                                             {"gitRepo", "repository"},
                                             {"gcePersistentDisk", "pdName"},
                                             {"awsElasticBlockStore", "volumeID"},
                                             {"secret", "secretName"},
                                             {"configMap", "name"},
                                             {"nfs", "server"},
                                             {"nfs", "path"},
                                             {"iscsi", "targetPortal"},
                                             {"iscsi", "iqn"},
                                             {"glusterfs", "endpoints"},
                                             {"glusterfs", "path"},
                                             {"persistentVolumeClaim", "claimName"},
                                             {"rbd", "image"},
                                             {"cinder", "volumeID"},
                                             {"azureFile", "secretName"},
                                             {"azureFile", "shareName"},
                                             {"azureDisk", "diskName"},
                                             {"azureDisk", "diskURI"},
                                             {"vsphereVolume", "volumePath"},
                                             {"photonPersistentDisk", "pdID"},
                                             {"portworxVolume", "volumeID"},
                                             {"flexVolume", "driver"},
                                             {"csi", "driver"},
                                             {"ephemeral", "volumeClaimTemplate"}};

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
    bool field = file.has("fieldRef"), resource = file.has("resourceFieldRef");
    if (field && resource)
      invalid(causes, path, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously");
    if (!field && !resource) required(causes, path, "one of fieldRef and resourceFieldRef is required");
    auto field_path = file["fieldRef"]["fieldPath"].text();
    bool known = !field || field_path.find("['") != std::string_view::npos ||
                 std::find(std::begin(kFilePaths), std::end(kFilePaths), field_path) != std::end(kFilePaths);
    if (!known) not_supported(causes, child(path, "fieldRef.fieldPath"), field_path, kFilePaths);
    validate_mode(causes, child(path, "mode"), file["mode"]);
  }
}

constexpr std::string_view kProjections[] = {
    "secret", "configMap", "downwardAPI", "serviceAccountToken", "clusterTrustBundle", "podCertificate"};

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
    }
    if (source.has("downwardAPI"))
      validate_downward_files(causes, child(at, "downwardAPI"), source["downwardAPI"]["items"]);
    if (source.has("serviceAccountToken"))
      validate_token_projection(causes, child(at, "serviceAccountToken"), path, source["serviceAccountToken"]);
  }
}

constexpr std::string_view kHostPathTypes[] = {"",     "BlockDevice",  "CharDevice", "Directory", "DirectoryOrCreate",
                                               "File", "FileOrCreate", "Socket"};

void validate_source(Causes& causes, const std::string& path, const Value& volume) {
  int count = volume.has("emptyDir");  // looked at first, so it is always the other one that is too much
  for (auto source : volume) {
    if (source.key() == "name" || source.key() == "emptyDir") continue;
    if (count++ > 0) forbidden(causes, child(path, source.key()), "may not specify more than 1 volume type");
  }
  if (count == 0) required(causes, path, "must specify a volume type");
  for (const auto& fact : kRequiredFields) {
    auto source = volume[fact.source];
    if (source &&
        (source[fact.field].missing() || (source[fact.field].is_string() && source[fact.field].text().empty())))
      required(causes, child(child(path, fact.source), fact.field));
  }
  for (auto kind : {"secret", "configMap"}) {
    validate_mode(causes, child(child(path, kind), "defaultMode"), volume[kind]["defaultMode"]);
    validate_key_paths(causes, child(child(path, kind), "items"), volume[kind]["items"]);
  }
  if (auto host_path = volume["hostPath"]) validate_volume_path(causes, child(path, "hostPath"), host_path);
  if (auto nfs = volume["nfs"])
    if (!nfs["path"].text().starts_with('/'))
      invalid(causes, child(path, "nfs.path"), nfs["path"].text(), "must be an absolute path");
  if (auto downward = volume["downwardAPI"]) {
    validate_mode(causes, child(child(path, "downwardAPI"), "defaultMode"), downward["defaultMode"]);
    validate_downward_files(causes, child(path, "downwardAPI"), downward["items"]);
  }
  if (auto projected = volume["projected"]) validate_projected(causes, child(path, "projected"), projected);
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

SoundVolumes validate_volumes(Causes& causes, const std::string& path, const Value& volumes) {
  SoundVolumes sound;
  auto& names = sound.names;
  std::size_t index = 0;
  for (auto volume : volumes) {
    std::string at = item(path, index++);
    auto before = causes.size();
    validate_source(causes, at, volume);
    auto name = volume["name"].text();
    if (name.empty())
      required(causes, child(at, "name"));
    else
      invalid_each(causes, child(at, "name"), name, dns1123_label(name));
    if (names.contains(name)) duplicate(causes, child(at, "name"), name);
    if (causes.size() != before) continue;  // only sound volumes count, as upstream has it
    names.insert(name);
    if (volume.has("persistentVolumeClaim") || volume.has("ephemeral")) sound.claimed.insert(name);
  }
  return sound;
}

}  // namespace sublet::apiserver
