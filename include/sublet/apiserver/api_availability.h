// ApiAvailability: whether an API server of the tenant's own, which an APIService names, can be had: the condition
// Available as upstream has it (kube-aggregator's status controllers). A value.
//
// Server::check_api_service() finds it out; a controller writes it down.
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
/// Asks the server behind the APIService of this name, and learns of it what it serves. Answers once, on any thread,
/// but not before it has returned; never when what it returned is dropped before.
using ApiServiceCheck =
    std::function<std::shared_ptr<void>(const std::string& name, std::function<void(ApiAvailability)> done)>;

/// Whether there is somebody who measures what pods and nodes use, so that metrics.k8s.io can be had (nullopt: nobody
/// can say at present). Answers as ApiServiceCheck.
using MetricsCheck = std::function<std::shared_ptr<void>(std::function<void(std::optional<bool>)> done)>;

}  // namespace sublet::apiserver
