#include "apiserver/validation/members.h"
#include "apiserver/validation/pod_spec.h"

namespace sublet::apiserver {
namespace {

constexpr int kFileMode = 0644;

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
constexpr NumberDefault kProbeNumbers[] = {
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
constexpr std::string_view kProbes[] = {"livenessProbe", "readinessProbe", "startupProbe"};
constexpr std::string_view kLifecycleHooks[] = {"postStart", "preStop"};
constexpr std::string_view kContainerLists[] = {"containers", "initContainers", "ephemeralContainers"};

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
    for (const auto& fact : kProbeNumbers)
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
    if (source && source["defaultMode"].missing()) source.put("defaultMode", kFileMode);
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
void default_service_account(schema::Value spec) {
  auto name = spec["serviceAccountName"].string(), old_name = spec["serviceAccount"].string();
  if (name.empty()) name = old_name;
  if (name.empty()) return;
  spec.put("serviceAccountName", name);
  spec.put("serviceAccount", name);
}

void default_requests(schema::Value container) {
  auto limits = container["resources"]["limits"];
  if (limits.empty()) return;
  auto requests = container["resources"].object("requests");
  const Members requested(requests, limits.size());
  for (auto limit : limits)
    if (requested[limit.key()].missing()) requests.add_member(limit.key()).set(limit);
  requests.sort_keys();
}

}  // namespace

std::string_view image_tag(std::string_view reference) {
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
  if (spec["terminationGracePeriodSeconds"].integer() < 0) spec.put("terminationGracePeriodSeconds", 1);
  if (spec["securityContext"].missing()) spec.object("securityContext");
  default_service_account(spec);
  for (auto list : kContainerLists)
    for (auto container : spec[list]) default_container(container);
  for (auto volume : spec["volumes"]) default_volume(volume);
}

void default_pod_only(schema::Value spec) {
  for (auto list : {"containers", "initContainers"}) {
    for (auto container : spec[list]) {
      default_requests(container);
      if (!spec["hostNetwork"].boolean()) continue;
      for (auto port : container["ports"])
        if (port["hostPort"].integer() == 0) port.put("hostPort", port["containerPort"].integer());
    }
  }
  if (spec["enableServiceLinks"].missing()) spec.put("enableServiceLinks", true);
}

}  // namespace sublet::apiserver
