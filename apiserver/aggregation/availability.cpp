#include "apiserver/aggregation/availability.h"

#include <optional>
#include <utility>

#include "apiserver/admission/admission_hooks.h"
#include "apiserver/aggregation/aggregated_apis.h"
#include "apiserver/aggregation/service_proxy.h"
#include "apiserver/codec/object_bytes.h"
#include "apiserver/request/user_names.h"
#include "sublet/base/go_quoted.h"
#include "sublet/base/mutex.h"
#include "sublet/schema/document.h"

namespace sublet::apiserver {
namespace {

using schema::Document;
using schema::Value;

constexpr std::chrono::seconds kAvailabilityTimeout{5};
constexpr std::size_t kResourcesMax = 1u << 20;  // of one APIResourceList; it is kept
constexpr std::string_view kAggregator = "system:kube-aggregator";

bool is_of_service(const store::Object& slice, const std::string& name) {
  for (const auto& [label, value] : slice.index.labels.all())
    if (label == "kubernetes.io/service-name" && value == name) return true;
  return false;
}

bool has_address(const Value& slice, std::string_view port_name) {
  bool ready = false, port = false;
  for (const Value endpoint : slice["endpoints"]) ready = ready || endpoint["conditions"]["ready"].boolean(true);
  for (const Value entry : slice["ports"]) port = port || (entry["name"].text() == port_name && entry.has("port"));
  return ready && port;
}

ApiAvailability not_available(std::string reason, std::string message) {
  return {false, std::move(reason), std::move(message)};
}

/// What can be said without asking anybody; nullopt: it has to be asked.
std::optional<ApiAvailability> judge_service(const ApiService& api, const store::Snapshot& state) {
  const std::string &name = api.peer.service_name, &space = api.peer.service_namespace;
  const std::string shown = "service/" + name + " in " + go_quoted(space);
  const auto service = read_stored(state, "services/" + space + "/" + name);
  if (!service) return not_available("ServiceNotFound", shown + " is not present");
  const Value spec = (*service)["spec"];
  if (spec["type"].text() != "ClusterIP") return std::nullopt;
  Value port;
  for (const Value entry : spec["ports"])
    if (entry["port"].integer() == api.peer.port) port = entry;
  if (!port)
    return not_available("ServicePortError", shown + " is not listening on port " + std::to_string(api.peer.port));
  bool any = false, good = false;
  state.scan("endpointslices.discovery.k8s.io/" + space + "/", {}, [&](const store::ObjectPtr& object) {
    if (!is_of_service(*object, name)) return true;
    any = true;
    const auto slice = Document::parse_json(object->json());
    good = good || (slice && has_address(slice->root(), port["name"].text()));
    return true;
  });
  if (!any) return not_available("EndpointsNotFound", "cannot find endpointslices for " + shown);
  if (!good)
    return not_available("MissingEndpoints", "endpointslices for " + shown + " have no addresses with port name " +
                                                 go_quoted(port["name"].text()));
  return std::nullopt;
}

/// One look at one server: first the group version, then where its OpenAPI is.
class AvailabilityCheck : public std::enable_shared_from_this<AvailabilityCheck> {
 public:
  AvailabilityCheck(std::shared_ptr<ServerCore> core, ApiServicePtr api, std::function<void(ApiAvailability)> done)
      : core_(std::move(core)), api_(std::move(api)), done_(std::move(done)) {}

  void start() {
    ask(api_->path(), [](AvailabilityCheck& self, Result<net::Response>& answer) { self.on_resources(answer); });
  }

 private:
  void ask(const std::string& path, void (*then)(AvailabilityCheck&, Result<net::Response>&)) {
    User aggregator;
    aggregator.name = kAggregator;
    aggregator.groups = {std::string(kMastersGroup)};
    auto call =
        core_->hooks.caller().ask(api_->peer, core_->store.snapshot(), aggregator_get(path, aggregator),
                                  kAvailabilityTimeout, [weak = weak_from_this(), then](Result<net::Response> answer) {
                                    if (const auto self = weak.lock()) then(*self, answer);
                                  });
    const MutexLock lock(mutex_);
    std::swap(call_, call);  // the one before has said its last word
    over_.push_back(std::move(call));
  }

  void on_resources(Result<net::Response>& answer) {
    const std::string from = "https://" + api_->peer.service_name + "." + api_->peer.service_namespace +
                             ".svc:" + std::to_string(api_->peer.port) + api_->path();
    if (!answer)
      return finish(not_available("FailedDiscoveryCheck", "failing or missing response from " + from + ": Get " +
                                                              go_quoted(from) + ": " + answer.error().message));
    if (answer->code < 200 || answer->code >= 300)
      return finish(not_available("FailedDiscoveryCheck", "failing or missing response from " + from +
                                                              ": bad status from " + from + ": " +
                                                              std::to_string(answer->code)));
    if (answer->body.size() <= kResourcesMax) served_.resources = std::move(answer->body);
    ask("/openapi/v3", [](AvailabilityCheck& self, Result<net::Response>& index) { self.on_index(index); });
  }

  // A server without OpenAPI documents is available too.
  void on_index(const Result<net::Response>& answer) {
    if (answer && answer->code == 200)
      if (const auto index = Document::parse_json(answer->body))
        served_.openapi_url = (*index)["paths"][api_->path().substr(1)]["serverRelativeURL"].string();
    core_->aggregated.learn(api_->name, std::move(served_));
    finish({true, "Passed", "all checks passed"});
  }

  // Not from within a call's own answer, which the callback may drop.
  void finish(ApiAvailability verdict) {
    core_->loop.post([self = shared_from_this(), verdict = std::move(verdict)] { self->done_(verdict); });
  }

  const std::shared_ptr<ServerCore> core_;
  const ApiServicePtr api_;
  const std::function<void(ApiAvailability)> done_;
  ServedApi served_;
  Mutex mutex_;
  std::shared_ptr<void> call_ SUBLET_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<void>> over_ SUBLET_GUARDED_BY(mutex_);  // none goes within its own callback
};

ApiServicePtr api_service_named(const ServerCore& core, const std::string& name) {
  for (const auto& api : core.aggregated.current()->apis)
    if (api.service->name == name) return api.service;
  return nullptr;
}

}  // namespace

std::shared_ptr<void> check_api_service(const std::shared_ptr<ServerCore>& core, const std::string& name,
                                        std::function<void(ApiAvailability)> done) {
  const auto api = api_service_named(*core, name);
  std::optional<ApiAvailability> verdict;
  if (!api || api->local)
    verdict = ApiAvailability{true, "Local", "Local APIServices are always available"};
  else
    verdict = judge_service(*api, core->store.snapshot());
  if (verdict) {
    auto waited_for = std::make_shared<std::function<void(ApiAvailability)>>(std::move(done));
    core->loop.post([weak = std::weak_ptr(waited_for), verdict = std::move(*verdict)] {
      if (const auto heard = weak.lock()) (*heard)(verdict);
    });
    return waited_for;
  }
  auto check = std::make_shared<AvailabilityCheck>(core, api, std::move(done));
  check->start();
  return check;
}

}  // namespace sublet::apiserver
