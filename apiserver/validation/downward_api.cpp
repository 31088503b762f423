// The downward API: fields of a pod, and resources of its containers, that variables and files tell.
#include <algorithm>
#include <span>
#include <string>

#include "apiserver/validation/names.h"
#include "apiserver/validation/pod_spec.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

/// Paths that the downward API knows at all, though not everywhere.
constexpr std::string_view kKnownFieldPaths[] = {
    "metadata.annotations", "metadata.labels",    "metadata.name", "metadata.namespace", "metadata.uid",
    "spec.nodeName",        "spec.restartPolicy", "spec.host",     "spec.schedulerName", "spec.serviceAccountName",
    "status.phase",         "status.hostIP",      "status.podIP",  "status.hostIPs",     "status.podIPs"};
/// What a resource's value may be divided by.
struct DivisorFacts {
  std::string_view suffix, allowed, message;
};
constexpr std::string_view kByteDivisors = ",1,1k,1M,1G,1T,1P,1E,1Ki,1Mi,1Gi,1Ti,1Pi,1Ei,";
constexpr DivisorFacts kDivisors[] = {
    {"cpu", ",1m,1,", "only divisor's values 1m and 1 are supported with the cpu resource"},
    {"memory", kByteDivisors,
     "only divisor's values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei are supported with the memory "
     "resource"},
    {"ephemeral-storage", kByteDivisors,
     "only divisor's values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei are supported with the local "
     "ephemeral storage resource"}};
constexpr std::string_view kResourceFields[] = {"limits.cpu",   "limits.ephemeral-storage",   "limits.memory",
                                                "requests.cpu", "requests.ephemeral-storage", "requests.memory"};
/// "metadata.labels['x']" -> true, with the part before the subscript in `base` and the key in `key`.
bool split_subscript(std::string_view path, std::string_view& base, std::string_view& key) {
  auto open = path.find("['");
  if (open == std::string_view::npos || open == 0 || !path.ends_with("']")) return false;
  base = path.substr(0, open);
  key = path.substr(open + 2, path.size() - open - 4);
  return true;
}

}  // namespace

void validate_field_ref(Causes& causes, const std::string& path, const Value& ref,
                        std::span<const std::string_view> known) {
  const auto version = ref["apiVersion"].text(), field_path = ref["fieldPath"].text();
  const auto at = child(path, "fieldPath");
  if (version.empty()) return required(causes, child(path, "apiVersion"));
  if (field_path.empty()) return required(causes, at);
  const auto cannot = [&](std::string_view why, std::string_view what) {
    invalid(causes, at, field_path, "error converting fieldPath: " + std::string(why) + ": " + std::string(what));
  };
  if (version != "v1") return cannot("unsupported pod version", version);
  std::string_view base, key;
  if (split_subscript(field_path, base, key)) {
    if (base != "metadata.labels" && base != "metadata.annotations")
      return cannot("field label does not support subscript", field_path);
    std::string name(key);
    if (base == "metadata.annotations")
      std::ranges::transform(name, name.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
    return invalid_each(causes, path, name, qualified_name(name));
  }
  if (std::ranges::find(kKnownFieldPaths, field_path) == std::end(kKnownFieldPaths))
    return cannot("field label not supported", field_path);
  if (std::ranges::find(known, field_path) == known.end()) not_supported(causes, at, field_path, known);
}

void validate_resource_field_ref(Causes& causes, const std::string& path, const Value& ref, bool in_volume) {
  const auto resource = ref["resource"].text();
  const bool huge_pages = resource.starts_with("requests.hugepages-") || resource.starts_with("limits.hugepages-");
  if (in_volume && ref["containerName"].text().empty())
    required(causes, child(path, "containerName"));
  else if (resource.empty())
    required(causes, child(path, "resource"));
  else if (!huge_pages && std::ranges::find(kResourceFields, resource) == std::end(kResourceFields))
    not_supported(causes, child(path, "resource"), resource, kResourceFields);
  auto divisor = ref["divisor"].string();
  if (divisor.empty() || divisor == "0") return;
  for (const auto& facts : kDivisors)
    if (resource.ends_with("." + std::string(facts.suffix)) &&
        facts.allowed.find("," + divisor + ",") == std::string_view::npos)
      invalid(causes, child(path, "divisor"), resource, facts.message);
}

}  // namespace sublet::apiserver
