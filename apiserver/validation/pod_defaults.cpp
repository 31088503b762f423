#include <algorithm>

#include "apiserver/validation/members.h"
#include "apiserver/validation/pod_spec.h"
#include "apiserver/validation/resources.h"
#include "sublet/quota/amounts.h"

namespace sublet::apiserver {
namespace {

constexpr int kVolumeFileMode = 0644;

/// A constant that a missing or empty text field gets.
struct TextDefault {
  std::string_view field, value;
};
struct NumberDefault {
  std::string_view field;
  int value;
};

constexpr TextDefault kSpecTexts[] = {
    {"restartPolicy", "Always"}, {"dnsPolicy", "ClusterFirst"}, {"schedulerName", "default-scheduler"}};
constexpr TextDefault kContainerTexts[] = {{"terminationMessagePath", "/dev/termination-log"},
                                           {"terminationMessagePolicy", "File"}};
constexpr NumberDefault kProbeDefaults[] = {
    {"timeoutSeconds", 1}, {"periodSeconds", 10}, {"successThreshold", 1}, {"failureThreshold", 3}};

/// Constants inside one kind of volume source.
struct VolumeText {
  std::string_view source, field, value;
};
constexpr VolumeText kVolumeTexts[] = {{"iscsi", "iscsiInterface", "default"},
                                       {"rbd", "pool", "rbd"},
                                       {"rbd", "user", "admin"},
                                       {"rbd", "keyring", "/etc/ceph/keyring"},
                                       {"azureDisk", "cachingMode", "ReadWrite"},
                                       {"azureDisk", "fsType", "ext4"},
                                       {"azureDisk", "kind", "Shared"},
                                       {"scaleIO", "storageMode", "ThinProvisioned"},
                                       {"scaleIO", "fsType", "xfs"}};
constexpr std::string_view kVolumesWithMode[] = {"secret", "configMap", "downwardAPI", "projected"};
constexpr std::string_view kLifecycleHooks[] = {"postStart", "preStop"};

template <std::size_t N>
void default_texts(schema::Value object, const TextDefault (&defaults)[N]) {
  for (const auto& fact : defaults)
    if (object[fact.field].text().empty()) object.put(fact.field, fact.value);
}

void default_field_ref(schema::Value field_ref) {
  if (field_ref && field_ref["apiVersion"].text().empty()) field_ref.put("apiVersion", "v1");
}

void default_handler(schema::Value handler) {
  auto http = handler["httpGet"];
  if (http) {
    if (http["path"].text().empty()) http.put("path", "/");
    if (http["scheme"].text().empty()) http.put("scheme", "HTTP");
  }
  auto grpc = handler["grpc"];
  if (grpc && grpc["service"].missing()) grpc.put("service", "");
}

void default_container(schema::Value container) {
  default_texts(container, kContainerTexts);
  if (container["imagePullPolicy"].text().empty())
    container.put("imagePullPolicy", image_tag(container["image"].text()) == "latest" ? "Always" : "IfNotPresent");
  if (container["resources"].missing()) container.object("resources");
  for (auto port : container["ports"])
    if (port["protocol"].text().empty()) port.put("protocol", "TCP");
  for (auto variable : container["env"]) default_field_ref(variable["valueFrom"]["fieldRef"]);
  for (auto name : kProbes) {
    auto probe = container[name];
    if (!probe) continue;
    default_handler(probe);
    for (const auto& fact : kProbeDefaults)
      if (probe[fact.field].integer() == 0) probe.put(fact.field, fact.value);
  }
  for (auto name : kLifecycleHooks)
    if (auto hook = container["lifecycle"][name]) default_handler(hook);
}

void default_downward_items(schema::Value source) {
  for (auto file : source["items"]) default_field_ref(file["fieldRef"]);
}

void default_projection(schema::Value source) {
  auto token = source["serviceAccountToken"];
  if (token && token["expirationSeconds"].missing()) token.put("expirationSeconds", 3600);
  if (auto downward = source["downwardAPI"]) default_downward_items(downward);
}

void default_volume(schema::Value volume) {
  if (volume.size() <= (volume.has("name") ? 1u : 0u)) volume.object("emptyDir");
  for (auto name : kVolumesWithMode) {
    auto source = volume[name];
    if (source && source["defaultMode"].missing()) source.put("defaultMode", kVolumeFileMode);
  }
  if (auto downward = volume["downwardAPI"]) default_downward_items(downward);
  for (auto source : volume["projected"]["sources"]) default_projection(source);
  if (auto host_path = volume["hostPath"])
    if (host_path["type"].missing()) host_path.put("type", "");
  for (const auto& fact : kVolumeTexts) {
    auto source = volume[fact.source];
    if (source && source[fact.field].text().empty()) source.put(fact.field, fact.value);
  }
  if (auto disk = volume["azureDisk"])
    if (disk["readOnly"].missing()) disk.put("readOnly", false);
  if (auto claim = volume["ephemeral"]["volumeClaimTemplate"]["spec"])
    if (claim["volumeMode"].text().empty()) claim.put("volumeMode", "Filesystem");
  if (auto image = volume["image"])
    if (image["pullPolicy"].text().empty())
      image.put("pullPolicy", image_tag(image["reference"].text()) == "latest" ? "Always" : "IfNotPresent");
}

/// The API keeps the old name of the field beside the new one.
void default_account_of_pod(schema::Value spec) {
  auto name = spec["serviceAccountName"].string(), old_name = spec["serviceAccount"].string();
  if (name.empty()) name = old_name;
  if (name.empty()) return;
  spec.put("serviceAccountName", name);
  spec.put("serviceAccount", name);
}

void default_requests_from_limits(schema::Value container) {
  auto limits = container["resources"]["limits"];
  if (limits.empty()) return;
  auto requests = container["resources"].object("requests");
  const Members requested(requests, limits.size());
  for (auto limit : limits)
    if (requested[limit.key()].missing()) requests.add_member(limit.key()).set(limit);
  requests.sort_keys();
}

/// Of a pod that has resources as a whole: huge pages are limited to what its containers may have together, and where
/// it is limited it asks for what they ask for together, else for its limits.
void default_pod_resources(schema::Value spec) {
  auto resources = spec["resources"];
  if (resources["limits"].empty() && resources["requests"].empty()) return;
  for (const auto& [name, amount] : quota::container_amounts(spec, "limits"))
    if (is_huge_page_resource(name) && !resources["requests"][name] && !resources["limits"][name])
      resources.object("limits").put(name, amount.text);
  auto limits = resources["limits"];
  if (limits.empty()) return;
  auto requests = resources.object("requests");
  for (const auto& [name, amount] : quota::container_amounts(spec, "requests"))
    if (is_pod_resource(name) && is_overcommit_allowed(name) && !requests[name]) requests.put(name, amount.text);
  for (auto limit : limits)
    if (const auto name = limit.key(); is_pod_resource(name) && !requests[name]) requests.add_member(name).set(limit);
  limits.sort_keys();
  requests.sort_keys();
  if (requests.empty()) resources.erase("requests");
}

bool is_name_char(char c, bool upper_too) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (upper_too && c >= 'A' && c <= 'Z');
}

/// Lower-case letters and digits, with ".", "_", "__" or hyphens between them.
bool is_path_part(std::string_view part) {
  if (part.empty() || !is_name_char(part.front(), false) || !is_name_char(part.back(), false)) return false;
  for (std::size_t i = 0; i < part.size();) {
    const auto end = std::min(part.size(), part.find_first_not_of("._-", i));
    const auto separator = part.substr(i, end - i);
    if (separator.empty() && !is_name_char(part[i], false)) return false;
    const bool hyphens = separator.find_first_not_of('-') == std::string_view::npos;
    if (!hyphens && separator != "." && separator != "_" && separator != "__") return false;
    i = std::max(end, i + 1);
  }
  return true;
}

bool each_part(std::string_view text, char separator, bool (*fits)(std::string_view)) {
  while (true) {
    const auto end = text.find(separator);
    if (!fits(text.substr(0, end))) return false;
    if (end == std::string_view::npos) return true;
    text.remove_prefix(end + 1);
  }
}

/// "registry.example:5000", "localhost" or "[::1]:5000".
bool is_registry(std::string_view text) {
  const bool bracketed = text.starts_with('[');
  const auto colon = text.find(':', bracketed ? std::min(text.size(), text.find(']')) : 0);
  const auto host = text.substr(0, colon);
  if (colon != std::string_view::npos) {
    const auto port = text.substr(colon + 1);
    if (port.empty() || port.find_first_not_of("0123456789") != std::string_view::npos) return false;
  }
  if (bracketed)
    return host.ends_with(']') && host.size() > 2 &&
           host.substr(1, host.size() - 2).find_first_not_of("0123456789abcdefABCDEF:") == std::string_view::npos;
  return each_part(host, '.', [](std::string_view part) {
    return !part.empty() && is_name_char(part.front(), true) && is_name_char(part.back(), true) &&
           std::ranges::all_of(part, [](char c) { return is_name_char(c, true) || c == '-'; });
  });
}

bool is_tag(std::string_view tag) {
  const auto is_word = [](char c) { return is_name_char(c, true) || c == '_'; };
  return !tag.empty() && tag.size() <= 128 && is_word(tag.front()) &&
         std::ranges::all_of(tag, [&](char c) { return is_word(c) || c == '.' || c == '-'; });
}

bool is_digest(std::string_view digest) {
  const auto colon = digest.find(':');
  if (colon == 0 || colon == std::string_view::npos || digest.size() - colon - 1 < 32) return false;
  const auto is_letter = [](char c) { return is_name_char(c, true) && !(c >= '0' && c <= '9'); };
  bool fresh = true;
  for (const char c : digest.substr(0, colon)) {
    const bool separates = c == '-' || c == '_' || c == '+' || c == '.';
    if (fresh ? !is_letter(c) : !separates && !is_name_char(c, true)) return false;
    fresh = separates;
  }
  return !fresh && digest.find_first_not_of("0123456789abcdefABCDEF", colon + 1) == std::string_view::npos;
}

/// What the image registries' grammar takes (github.com/distribution/reference, ParseNormalizedNamed).
bool is_image_reference(std::string_view text) {
  constexpr std::size_t kNameMax = 255, kIdSize = 64;
  constexpr std::string_view kLibrary = "library/";
  if (text.size() == kIdSize && text.find_first_not_of("0123456789abcdef") == std::string_view::npos) return false;
  const auto slash = text.find('/');
  const auto first = text.substr(0, slash);
  const bool has_registry =
      slash != std::string_view::npos && (first.find_first_of(".:") != std::string_view::npos || first == "localhost" ||
                                          std::ranges::any_of(first, [](char c) { return c >= 'A' && c <= 'Z'; }));
  if (has_registry && !is_registry(first)) return false;
  auto rest = has_registry ? text.substr(slash + 1) : text;
  if (const auto at = rest.find('@'); at != std::string_view::npos) {
    if (!is_digest(rest.substr(at + 1))) return false;
    rest = rest.substr(0, at);
  }
  if (const auto colon = rest.find(':'); colon != std::string_view::npos) {
    if (!is_tag(rest.substr(colon + 1))) return false;
    rest = rest.substr(0, colon);
  }
  // A name alone is in the library of the default registry.
  const bool alone = !has_registry && rest.find('/') == std::string_view::npos;
  return rest.size() + (alone ? kLibrary.size() : 0) <= kNameMax && each_part(rest, '/', is_path_part);
}

}  // namespace

std::string_view image_tag(std::string_view reference) {
  if (!is_image_reference(reference)) return {};
  auto slash = reference.rfind('/');
  auto last = slash == std::string_view::npos ? reference : reference.substr(slash + 1);
  auto at = last.find('@');
  auto colon = last.substr(0, at).find(':');
  if (colon != std::string_view::npos) return last.substr(0, at).substr(colon + 1);
  return at == std::string_view::npos ? std::string_view("latest") : std::string_view();
}

void default_pod_spec(schema::Value spec) {
  default_texts(spec, kSpecTexts);
  if (spec["terminationGracePeriodSeconds"].missing()) spec.put("terminationGracePeriodSeconds", 30);
  if (spec["securityContext"].missing()) spec.object("securityContext");
  default_account_of_pod(spec);
  for (auto list : kContainerLists)
    for (auto container : spec[list]) default_container(container);
  for (auto volume : spec["volumes"]) default_volume(volume);
}

void default_pod_only(schema::Value spec) {
  for (auto list : {"containers", "initContainers"}) {
    for (auto container : spec[list]) {
      default_requests_from_limits(container);
      if (!spec["hostNetwork"].boolean()) continue;
      for (auto port : container["ports"])
        if (port["hostPort"].integer() == 0) port.put("hostPort", port["containerPort"].integer());
    }
  }
  default_pod_resources(spec);
  if (spec["terminationGracePeriodSeconds"].integer() < 0) spec.put("terminationGracePeriodSeconds", 1);
  if (spec["enableServiceLinks"].missing()) spec.put("enableServiceLinks", true);
}

}  // namespace sublet::apiserver
