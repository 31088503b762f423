// Annotations of pods that mean something: mirror pods, what a pod's deletion costs, and the profiles that stand in
// fields by now, AppArmor's and seccomp's.
#include <charconv>
#include <string>

#include "apiserver/validation/pod_spec.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

constexpr std::string_view kMirror = "kubernetes.io/config.mirror",
                           kDeletionCost = "controller.kubernetes.io/pod-deletion-cost",
                           kSeccompOfPod = "seccomp.security.alpha.kubernetes.io/pod",
                           kSeccompOfContainer = "container.seccomp.security.alpha.kubernetes.io/",
                           kAppArmor = "container.apparmor.security.beta.kubernetes.io/",
                           kLocalhostPrefix = "localhost/";
constexpr std::string_view kAnnotatedLists[] = {"initContainers", "containers", "ephemeralContainers"};

/// 32 bits, and no other zero in front than that of "0" and "-0".
bool is_deletion_cost(std::string_view text) {
  if (text.empty() || (text != "0" && text.front() != '-' && !(text.front() >= '1' && text.front() <= '9')))
    return false;
  std::int32_t cost = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), cost);
  return error == std::errc() && end == text.data() + text.size();
}

void validate_seccomp_annotation(Causes& causes, const std::string& path, std::string_view value) {
  if (value == "runtime/default" || value == "docker/default" || value == "unconfined") return;
  if (value.starts_with(kLocalhostPrefix))
    return validate_relative_path(causes, path, value.substr(kLocalhostPrefix.size()));
  invalid(causes, path, value, "must be a valid seccomp profile");
}

void validate_app_armor_annotation(Causes& causes, const std::string& path, const Value& annotation,
                                   const Value& spec) {
  const auto name = annotation.key().substr(kAppArmor.size()), value = annotation.text();
  if (!has_container(spec, name)) invalid(causes, path, name, "container not found");
  if (value.empty() || value == "runtime/default" || value == "unconfined" || value.starts_with(kLocalhostPrefix))
    return;
  invalid(causes, path, value, "invalid AppArmor profile name: " + BadValue(value).text());
}

/// Whether an annotation says what the profile says; else the field of the profile that it contradicts.
std::string_view contradicted(std::string_view annotation, const Value& profile, bool seccomp) {
  const auto type = profile["type"].text();
  if (type == "Unconfined" && annotation != "unconfined") return "type";
  if (type == "RuntimeDefault" && annotation != "runtime/default" && !(seccomp && annotation == "docker/default"))
    return "type";
  if (type != "Localhost") return {};
  if (!annotation.starts_with(kLocalhostPrefix)) return "type";
  const auto name = profile["localhostProfile"];
  return name && name.text() == annotation.substr(kLocalhostPrefix.size()) ? std::string_view() : "localhostProfile";
}

void validate_agreement(Causes& causes, const std::string& path, const Value& annotation, const Value& profile,
                        bool seccomp) {
  if (!annotation || !profile) return;
  const auto field = contradicted(annotation.text(), profile, seccomp);
  if (field.empty()) return;
  const std::string what = seccomp ? "seccomp" : "apparmor";
  forbidden(causes, child(path, field),
            what + (field == "type" ? " type" : " profile") + " in annotation and field must match");
}

}  // namespace

void validate_pod_annotations(Causes& causes, const std::string& path, const Value& annotations, const Value& spec) {
  for (auto annotation : annotations) {
    const auto key = annotation.key(), value = annotation.text();
    if (key == kMirror && spec["nodeName"].text().empty())
      invalid(causes, keyed(path, key), value, "must set spec.nodeName if mirror pod annotation is set");
    if (key == kDeletionCost && !is_deletion_cost(value))
      invalid(causes, keyed(path, key), value, "must be a 32bit integer");
    if (key == kSeccompOfPod || key.starts_with(kSeccompOfContainer))
      validate_seccomp_annotation(causes, child(path, key), value);
    if (key.starts_with(kAppArmor)) validate_app_armor_annotation(causes, keyed(path, key), annotation, spec);
  }
}

void validate_pod_annotations_update(Causes& causes, const std::string& path, const Value& annotations,
                                     const Value& old) {
  for (auto before : old) {
    const auto key = before.key();
    if (annotations.has(key) && annotations[key].text() == before.text()) continue;
    if (key.starts_with(kAppArmor))
      forbidden(causes, keyed(path, key), "may not remove or update AppArmor annotations");
    if (key == kMirror) forbidden(causes, keyed(path, key), "may not remove or update mirror pod annotation");
  }
  for (auto annotation : annotations) {
    const auto key = annotation.key();
    if (old.has(key)) continue;
    if (key.starts_with(kAppArmor)) forbidden(causes, keyed(path, key), "may not add AppArmor annotations");
    if (key == kMirror) forbidden(causes, keyed(path, key), "may not add mirror pod annotation");
  }
}

void validate_profiles_agree(Causes& causes, const std::string& path, const Value& annotations, const Value& spec) {
  if (annotations.empty()) return;
  const auto context = spec["securityContext"];
  validate_agreement(causes, child(path, "securityContext.seccompProfile"), annotations[kSeccompOfPod],
                     context["seccompProfile"], true);
  const bool windows = spec["os"]["name"].text() == "windows";
  for (auto list : kAnnotatedLists) {
    std::size_t index = 0;
    for (auto container : spec[list]) {
      const auto at = child(item(child(path, list), index++), "securityContext");
      const auto own = container["securityContext"];
      const auto name = container["name"].string();
      validate_agreement(causes, child(at, "seccompProfile"), annotations[std::string(kSeccompOfContainer) + name],
                         own["seccompProfile"], true);
      const auto profile = own.has("appArmorProfile") ? own["appArmorProfile"] : context["appArmorProfile"];
      if (!windows)
        validate_agreement(causes, child(at, "appArmorProfile"), annotations[std::string(kAppArmor) + name], profile,
                           false);
    }
  }
}

void validate_app_armor_profile(Causes& causes, const std::string& path, const Value& profile) {
  constexpr static std::string_view kTypes[] = {"Localhost", "RuntimeDefault", "Unconfined"};
  constexpr std::string_view kSpace = " \t\n\v\f\r";
  constexpr int kNameMax = 4095;
  const auto name = profile["localhostProfile"];
  const auto type = profile["type"].text();
  const auto at = child(path, "localhostProfile");
  if (type.empty()) return required(causes, child(path, "type"), "type is required when appArmorProfile is set");
  if (type == "RuntimeDefault" || type == "Unconfined") {
    if (name) invalid(causes, at, name, "can only be set when AppArmor type is Localhost");
    return;
  }
  if (type != "Localhost") return not_supported(causes, child(path, "type"), type, kTypes);
  if (!name) return required(causes, at, "must be set when AppArmor type is Localhost");
  const auto text = name.text();
  if (text.empty())
    required(causes, at, "must be set when AppArmor type is Localhost");
  else if (kSpace.find(text.front()) != std::string_view::npos || kSpace.find(text.back()) != std::string_view::npos)
    invalid(causes, at, text, "must not be padded with whitespace");
  if (text.size() > static_cast<std::size_t>(kNameMax)) too_long(causes, at, kNameMax);
}

}  // namespace sublet::apiserver
