// What a pod and a Service are to each other: which pods belong in endpoints, where they are reached, and which
// Services a pod's change concerns. Shared by Endpoints and EndpointSlices. Pure functions. Source:
// k8s.io/endpointslice (utils.go, util/controller_utils.go).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controllers/runtime/object_ref.h"
#include "sublet/controllers/controller.h"

namespace sublet::controllers {

/// Finished pods and those without an address do not; ending ones only where they are asked for.
bool belongs_in_endpoints(const schema::Value& pod, bool also_ending);
bool is_ready(const schema::Value& pod);
/// The number of the pod's port that this port of a Service leads to; nullopt when its name is not found.
std::optional<int> find_port(const schema::Value& pod, const schema::Value& service_port);
/// The pod's addresses of the family "IPv4" or "IPv6".
std::vector<std::string> addresses_of(const schema::Value& pod, std::string_view family);
/// "IPv4", "IPv6" or both, the main one first.
std::vector<std::string> families_of(const schema::Value& service);
/// The pod goes by a name of its own within the Service.
bool has_own_name(const schema::Value& pod, const schema::Value& service);
/// Returns true for a Service with a selector of type ClusterIP and its like: this controller writes its endpoints.
bool has_our_endpoints(const schema::Value& service);
bool is_headless(const schema::Value& service);

/// What happened to the pod may change the endpoints of the Services that select it.
bool concerns_endpoints(const Change& pod);
/// Enqueues each Service that selects the pod as it is or as it was.
void enqueue_services_of(const Context& context, const Lister& services, const Change& pod);
/// The pods that the Service selects, in the order of their names.
std::vector<schema::Document> pods_of_service(const Lister& pods, const schema::Value& service);
/// When endpoints became due: the latest of the Service's creation and its pods' changes of readiness.
std::string latest_trigger(const schema::Value& service, const std::vector<schema::Document>& pods);

}  // namespace sublet::controllers
