// What /ephemeralcontainers and /resize may change of a pod (upstream's ValidatePodEphemeralContainersUpdate and
// ValidatePodResize, v1.36). The whole new pod has been judged before, as with any update.
#include <algorithm>
#include <array>

#include "apiserver/request/members.h"
#include "apiserver/validation/pod_spec.h"
#include "apiserver/validation/resources.h"

namespace sublet::apiserver {
namespace {

using schema::Document;
using schema::Value;

constexpr std::array<std::string_view, 2> kResizableLists = {"containers", "initContainers"};
constexpr std::array<std::string_view, 2> kResizable = {"cpu", "memory"};
constexpr std::array<std::string_view, 2> kResourceLists = {"requests", "limits"};

bool is_sidecar(const Value& container) { return container["restartPolicy"].text() == "Always"; }

bool some_removed(const Value& now, const Value& old) {
  return old.size() > now.size() || std::ranges::any_of(old, [&](const Value& one) { return !now.has(one.key()); });
}

void validate_none_removed(Causes& causes, const std::string& path, const Value& now, const Value& old,
                           const std::string& whose) {
  for (const auto list : kResourceLists)
    if (some_removed(now[list], old[list]))
      forbidden(causes, child(path, list), whose + "resource " + std::string(list) + " cannot be removed");
}

/// What may change becomes what it was, so that a difference that is left was not allowed.
void restore_resizable(Value resources, const Value& old) {
  for (const auto list : kResourceLists) {
    if (!resources.has(list) && !old.has(list)) continue;
    Value amounts = resources.object(list);
    for (const auto resource : kResizable) copy_field(amounts, old[list], resource);
    if (amounts.empty()) resources.erase(list);
  }
}

void restore_container(Value container, const Value& old) {
  Value resources = container.object("resources");
  restore_resizable(resources, old["resources"]);
  resources.erase("claims");  // a container with claims is not resized
  if (resources.empty()) container.erase("resources");
}

bool same_order(Causes& causes, const std::string& path, const Value& spec, const Value& old_spec) {
  const std::size_t before = causes.size();
  for (const auto list : kResizableLists) {
    const std::string at = child(path, list);
    const Value now = spec[list], old = old_spec[list];
    if (now.size() != old.size()) {
      forbidden(causes, at, std::string(list) + " may not be added or removed on resize");
      continue;
    }
    for (std::size_t i = 0; i < old.size(); ++i)
      if (now.at(i)["name"].text() != old.at(i)["name"].text())
        forbidden(causes, child(item(at, i), "name"), std::string(list) + " may not be renamed or reordered on resize");
  }
  return causes.size() == before;
}

/// A node that says what its running containers have can also change it.
bool node_can_resize(const Value& pod) {
  for (const Value status : pod["status"]["containerStatuses"])
    if (status["state"].has("running")) return status.has("resources");
  return true;
}

bool sets_resources(const Value& spec) {
  const Value resources = spec["resources"];
  return resources["requests"].size() + resources["limits"].size() > 0;
}

void validate_pod_level(Causes& causes, const std::string& path, Value munged, const Value& old_spec) {
  const Value old = old_spec["resources"];
  if (old && !munged.has("resources"))
    return forbidden(causes, child(path, "resources"), "pod-level resources cannot be removed");
  if (old) validate_none_removed(causes, child(path, "resources"), munged["resources"], old, "pod-level ");
  Value resources = munged.object("resources");
  restore_resizable(resources, old);
  if (resources.empty() && !old) munged.erase("resources");
  if (!semantically_equal(munged["resources"], old))
    forbidden(causes, path, "only cpu and memory resources are mutable at pod-level");
}

void validate_containers_resize(Causes& causes, const std::string& path, Value munged, const Value& old_spec) {
  for (const auto list : {"initContainers", "containers"})
    for (std::size_t i = 0; i < old_spec[list].size(); ++i)
      validate_none_removed(causes, child(item(child(path, list), i), "resources"), munged[list].at(i)["resources"],
                            old_spec[list].at(i)["resources"], "");
  for (std::size_t i = 0; i < old_spec["containers"].size(); ++i) {
    const Value old = old_spec["containers"].at(i);
    restore_container(munged["containers"].at(i), old);
    if (!semantically_equal(munged["containers"].at(i), old))
      forbidden(causes, path, "only cpu and memory resources are mutable");
  }
  for (std::size_t i = 0; i < old_spec["initContainers"].size(); ++i) {
    const Value old = old_spec["initContainers"].at(i);
    const Value container = munged["initContainers"].at(i);
    const std::string at = item(child(path, "initContainers"), i);
    const bool changed = !semantically_equal(container, old);
    restore_container(container, old);
    if (!semantically_equal(container, old))
      forbidden(causes, at, "only cpu and memory resources for init or sidecar containers are mutable");
    if (!changed || is_sidecar(container)) continue;
    for (const Value policy : container["resizePolicy"])
      if (policy["restartPolicy"].text() == "RestartContainer")
        forbidden(causes, at, "non-sidecar init containers with a resize policy of RestartContainer cannot be resized");
  }
}

}  // namespace

void validate_ephemeral_containers_update(Causes& causes, const std::string& path, const Value& spec,
                                          const Value& old_spec) {
  const std::string at = child(path, "ephemeralContainers");
  for (const Value old : old_spec["ephemeralContainers"]) {
    const std::string name = "existing ephemeral containers \"" + old["name"].string() + "\"";
    const Value list = spec["ephemeralContainers"];
    const auto kept =
        std::find_if(list.begin(), list.end(), [&](const Value& one) { return one["name"].equals(old["name"]); });
    if (kept == list.end())
      forbidden(causes, at, name + " may not be removed\n");
    else if (!semantically_equal(*kept, old))
      forbidden(causes, at, name + " may not be changed\n");
  }
}

void validate_pod_resize(Causes& causes, const Value& pod, const Value& old_pod) {
  const std::string path = "spec";
  const Value spec = pod["spec"], old_spec = old_pod["spec"];
  if (old_spec["os"]["name"].text() == "windows") {
    causes.clear();
    return forbidden(causes, "", "windows pods cannot be resized");
  }
  const std::string_view stored_class = old_pod["status"]["qosClass"].text();
  if ((stored_class.empty() ? qos_class(old_spec) : stored_class) != qos_class(spec))
    invalid(causes, path, pod["status"]["qosClass"].text(), "Pod QOS Class may not change as a result of resizing");
  if (!node_can_resize(old_pod)) forbidden(causes, path, "Pod running on node without support for resize");
  Document munged = Document::copy_of(spec);
  if (sets_resources(spec) || sets_resources(old_spec)) validate_pod_level(causes, path, munged.root(), old_spec);
  if (old_pod["status"]["nodeAllocatableResourceClaimStatuses"].size() > 0)
    forbidden(causes, path, "pods with node allocatable resource claims cannot be resized");
  if (!same_order(causes, path, spec, old_spec)) return;
  validate_containers_resize(causes, path, munged.root(), old_spec);
  if (causes.empty() && !semantically_equal(munged.root(), old_spec))
    forbidden(causes, path, "only cpu and memory resources are mutable");
}

}  // namespace sublet::apiserver
