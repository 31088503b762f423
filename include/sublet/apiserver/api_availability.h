// ApiAvailability: the condition Available of an APIService, as upstream's aggregator has it: whether the tenant's API
// server behind it answers. A value. Server::check_api_service() determines it; a controller stores it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace sublet::apiserver {

struct ApiAvailability {
  bool available = false;
  std::string reason, message;
};
/// Asks the server behind the APIService `name`, and records what it serves. Calls `done` once, on any thread, after it
/// has returned; never when the returned handle is dropped before.
using ApiServiceCheck =
    std::function<std::shared_ptr<void>(const std::string& name, std::function<void(ApiAvailability)> done)>;

/// Determines whether resource metrics are available, so that metrics.k8s.io can be served (nullopt: not known at
/// present). Calls `done` as ApiServiceCheck does.
using MetricsCheck = std::function<std::shared_ptr<void>(std::function<void(std::optional<bool>)> done)>;

}  // namespace sublet::apiserver
