#include <set>

#include "apiserver/strategies/rows.h"
#include "apiserver/validation/names.h"
#include "apiserver/validation/pod_spec.h"
#include "apiserver/validation/resources.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

void validate_runtime_class(const Value& object, Causes& causes) {
  auto handler = object["handler"].text();
  if (handler.empty())
    required(causes, "handler");
  else
    invalid_each(causes, "handler", handler, dns1123_label(handler));
  // Upstream checks the overhead as if it were a container's limits, and names it so.
  auto resources = schema::Document::object();
  if (auto fixed = object["overhead"]["podFixed"]) resources.root().put("limits", fixed);
  validate_container_resources(causes, "overhead", resources.root());
  auto scheduling = object["scheduling"];
  validate_labels(causes, "scheduling.nodeSelector", scheduling["nodeSelector"]);
  validate_tolerations(causes, "scheduling.tolerations", scheduling["tolerations"]);
  std::set<std::string> seen;
  std::size_t index = 0;
  for (auto toleration : scheduling["tolerations"]) {
    std::string at = item("scheduling.tolerations", index++), key;
    for (auto field : {"key", "operator", "value", "effect"}) key += toleration[field].string() + "\n";
    if (!seen.insert(key).second) duplicate(causes, at, toleration);
  }
}

void validate_runtime_class_update(const Value& object, const Value& old, Causes& causes) {
  immutable(causes, "handler", object["handler"], old["handler"]);
}

}  // namespace

Strategy runtime_class_strategy() {
  Strategy row;
  row.group = "node.k8s.io";
  row.resource = "runtimeclasses";
  row.create_on_update = true;
  row.unconditional_update = false;
  row.validate = validate_runtime_class;
  row.validate_update = validate_runtime_class_update;
  return row;
}

}  // namespace sublet::apiserver
