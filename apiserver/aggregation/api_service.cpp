#include "apiserver/aggregation/api_service.h"

#include "sublet/kube/conditions.h"
#include "sublet/kube/resource_metrics.h"
#include "sublet/schema/engine.h"

namespace sublet::apiserver {

std::shared_ptr<const ApiService> ApiService::read(const schema::Value& object) {
  const schema::Value spec = object["spec"];
  const bool local = !spec.has("service");
  if (local && (spec["group"].text() != kube::kMetricsGroup || spec["version"].text() != kube::kMetricsVersion))
    return nullptr;
  auto made = std::make_shared<ApiService>();
  made->local = local;
  made->name = object["metadata"]["name"].string();
  made->group = spec["group"].string();
  made->version = spec["version"].string();
  const schema::Value service = spec["service"];
  made->peer = {service["namespace"].string(), service["name"].string(), static_cast<int>(service["port"].integer(443)),
                schema::base64_decode(spec["caBundle"].text()).value_or(""), spec["insecureSkipTLSVerify"].boolean()};
  made->group_priority = spec["groupPriorityMinimum"].integer();
  made->version_priority = spec["versionPriority"].integer();
  made->available = local || kube::has_condition(object, "Available");
  return made;
}

}  // namespace sublet::apiserver
