#include "syncer/translate/pod_settings.h"

#include <algorithm>

#include "sublet/patches/pod_settings.h"

namespace sublet::syncer {
namespace {

using patches::PodSettings;
using schema::Value;

bool put_images(const PodSettings& settings, Value spec) {
  bool changed = false;
  for (const char* list : {"containers", "initContainers", "ephemeralContainers"})
    for (Value container : spec[list]) {
      const auto other = settings.images.find(container["image"].text());
      if (other == settings.images.end()) continue;
      container.put("image", other->second);
      changed = true;
    }
  return changed;
}

bool is_there(const Value& tolerations, const patches::TolerationSetting& wanted) {
  return std::any_of(tolerations.begin(), tolerations.end(), [&](const Value& one) {
    const bool any_value = one["operator"].text("Equal") == "Exists";
    return one["key"].text() == wanted.key && one["effect"].text() == wanted.effect && any_value == wanted.any_value &&
           (any_value || one["value"].text() == wanted.value) && !one.has("tolerationSeconds");
  });
}

bool put_tolerations(const PodSettings& settings, Value spec) {
  bool changed = false;
  for (const patches::TolerationSetting& wanted : settings.tolerations) {
    if (is_there(spec["tolerations"], wanted)) continue;
    if (!spec.has("tolerations")) spec.array("tolerations");
    Value toleration = spec["tolerations"].push_object();
    toleration.put("key", wanted.key);
    toleration.put("operator", wanted.any_value ? "Exists" : "Equal");
    if (!wanted.any_value) toleration.put("value", wanted.value);
    if (!wanted.effect.empty()) toleration.put("effect", wanted.effect);
    changed = true;
  }
  return changed;
}

bool put_class(Value spec, std::string_view member, const std::string& name) {
  if (name.empty() || !spec[member].text().empty()) return false;
  spec.put(member, name);
  return true;
}

}  // namespace

void apply_pod_settings(const Translation& translation, Value host_pod) {
  const PodSettings& settings = translation.config().pods;
  Value spec = host_pod.object("spec");
  const auto tell = [&](bool changed, std::string_view key) {
    if (changed && translation.context().after_patch) translation.context().after_patch(key, host_pod);
  };
  tell(put_images(settings, spec), "sync.toHost.pods.translateImage");
  tell(put_tolerations(settings, spec), "sync.toHost.pods.enforceTolerations");
  tell(put_class(spec, "runtimeClassName", settings.runtime_class), "sync.toHost.pods.runtimeClassName");
  tell(put_class(spec, "priorityClassName", settings.priority_class), "sync.toHost.pods.priorityClassName");
}

}  // namespace sublet::syncer
