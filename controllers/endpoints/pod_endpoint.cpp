#include "controllers/endpoints/pod_endpoint.h"

#include <algorithm>

#include "sublet/kube/json_scan.h"

namespace sublet::controllers {
namespace {

using schema::Document;
using schema::Value;

bool is_v6(std::string_view address) { return address.find(':') != std::string_view::npos; }

Value ready_condition(const Value& pod) {
  for (Value condition : pod["status"]["conditions"])
    if (condition["type"].text() == "Ready") return condition;
  return {};
}

/// The text of what decides about endpoints, but for the readiness.
bool same_at(const store::Object& a, const store::Object& b, std::initializer_list<std::string_view> path) {
  return raw_of(a, path) == raw_of(b, path);
}

std::string ready_status(const store::Object& pod) {
  kube::JsonScanner conditions(raw_of(pod, {"status", "conditions"}));
  for (std::string_view key, condition; conditions.next(key, condition);)
    if (kube::json_unquote(kube::json_member(condition, "type").value_or("")) == "Ready")
      return std::string(kube::json_member(condition, "status").value_or(""));
  return {};
}

}  // namespace

bool belongs_in_endpoints(const Value& pod, bool also_ending) {
  const auto status = pod["status"];
  const auto phase = status["phase"].text();
  if (phase == "Failed" || phase == "Succeeded") return false;
  if (status["podIP"].text().empty() && status["podIPs"].empty()) return false;
  return also_ending || !pod["metadata"].has("deletionTimestamp");
}

bool is_ready(const Value& pod) { return ready_condition(pod)["status"].text() == "True"; }

std::optional<int> find_port(const Value& pod, const Value& service_port) {
  const auto target = service_port["targetPort"];
  if (!target) return static_cast<int>(service_port["port"].integer());
  if (target.is_integer()) return static_cast<int>(target.integer());
  const auto wanted = [&](const Value& container) -> std::optional<int> {
    for (Value port : container["ports"])
      if (port["name"].text() == target.text() && port["protocol"].text("TCP") == service_port["protocol"].text("TCP"))
        return static_cast<int>(port["containerPort"].integer());
    return std::nullopt;
  };
  for (Value container : pod["spec"]["containers"])
    if (auto found = wanted(container)) return found;
  for (Value container : pod["spec"]["initContainers"])
    if (container["restartPolicy"].text() == "Always")
      if (auto found = wanted(container)) return found;
  return std::nullopt;
}

std::vector<std::string> addresses_of(const Value& pod, std::string_view family) {
  std::vector<std::string> addresses;
  for (Value entry : pod["status"]["podIPs"])
    if (is_v6(entry["ip"].text()) == (family == "IPv6")) addresses.push_back(entry["ip"].string());
  return addresses;
}

std::vector<std::string> families_of(const Value& service) {
  std::vector<std::string> families;
  for (Value family : service["spec"]["ipFamilies"]) families.push_back(family.string());
  if (families.empty()) families.emplace_back(is_v6(service["spec"]["clusterIP"].text()) ? "IPv6" : "IPv4");
  return families;
}

bool has_own_name(const Value& pod, const Value& service) {
  return !pod["spec"]["hostname"].text().empty() &&
         pod["spec"]["subdomain"].text() == service["metadata"]["name"].text();
}

bool has_our_endpoints(const Value& service) {
  const auto spec = service["spec"];
  return spec["type"].text() != "ExternalName" && !spec["selector"].empty();
}

bool is_headless(const Value& service) {
  const auto address = service["spec"]["clusterIP"].text();
  return address.empty() || address == "None";
}

bool concerns_endpoints(const Change& pod) {
  if (!pod.before || !pod.after) return true;
  const auto &before = *pod.before, &after = *pod.after;
  return before.index.labels != after.index.labels || !same_at(before, after, {"status", "podIPs"}) ||
         !same_at(before, after, {"status", "phase"}) || !same_at(before, after, {"spec", "nodeName"}) ||
         is_ending(before) != is_ending(after) || ready_status(before) != ready_status(after);
}

void enqueue_services_of(const Context& context, const Lister& services, const Change& pod) {
  for (const auto* state : {pod.before.get(), pod.after.get()}) {
    if (!state || (state == pod.after.get() && pod.before && pod.before->index.labels == state->index.labels)) continue;
    for (const auto& service : services.selecting(namespace_of(*state), state->index))
      context.enqueue(key_of(*service));
  }
}

std::vector<Document> pods_of_service(const Lister& pods, const Value& service) {
  auto found = pods.selected(service["metadata"]["namespace"].text(),
                             kube::LabelSelector::from_map(service["spec"]["selector"]));
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a->key < b->key; });
  std::vector<Document> documents;
  for (const auto& pod : found) documents.push_back(document_of(*pod));
  return documents;
}

std::string latest_trigger(const Value& service, const std::vector<Document>& pods) {
  auto latest = parse_time(service["metadata"]["creationTimestamp"].text()).value_or(WallTime());
  for (const auto& pod : pods)
    if (auto changed = parse_time(ready_condition(pod.root())["lastTransitionTime"].text()))
      latest = std::max(latest, *changed);
  return format_time(latest);
}

}  // namespace sublet::controllers
