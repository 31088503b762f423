#include "apiserver/aggregation/foreign_documents.h"

#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "apiserver/admission/admission_hooks.h"
#include "apiserver/aggregation/aggregated_apis.h"
#include "apiserver/aggregation/service_proxy.h"
#include "sublet/base/mutex.h"
#include "sublet/net/courier.h"
#include "sublet/schema/group_versions.h"

namespace sublet::apiserver {
namespace {

constexpr std::chrono::seconds kDocumentTimeout{5};

bool serves_itself(const RequestContext& context, const ApiService& api) {
  return schema::serves(*context.kinds, api.group, api.version);
}

/// One server with the group versions that are its own.
struct OtherServer {
  ServicePeer peer;
  std::vector<std::string> paths;
};

std::vector<OtherServer> servers_of(const RequestContext& context) {
  std::map<std::tuple<std::string, std::string, int>, OtherServer> servers;
  for (const auto& api : context.core->aggregated.current()->apis) {
    const ApiService& service = *api.service;
    if (service.local || !service.available || serves_itself(context, service)) continue;
    OtherServer& server = servers[{service.peer.service_namespace, service.peer.service_name, service.peer.port}];
    server.peer = service.peer;
    server.paths.push_back(service.path());
  }
  std::vector<OtherServer> all;
  for (auto& [where, server] : servers) all.push_back(std::move(server));
  return all;
}

/// The questions to all of them, until the last answer. The calls hold it only weakly; it holds itself meanwhile.
class Asked : public std::enable_shared_from_this<Asked> {
 public:
  Asked(ContextPtr context, std::vector<OtherServer> servers, std::function<void(ForeignOpenApi)> then)
      : context_(std::move(context)), servers_(std::move(servers)), then_(std::move(then)), left_(servers_.size()) {}

  void start() {
    for (std::size_t i = 0; i < servers_.size(); ++i) ask(i);
  }

 private:
  void ask(std::size_t index) {
    auto call = context_->core->hooks.caller().ask(
        servers_[index].peer, context_->core->store.snapshot(), aggregator_get("/openapi/v2", context_->user),
        kDocumentTimeout,
        [self = shared_from_this(), index](const Result<net::Response>& answer) { self->hear(index, answer); });
    const MutexLock lock(mutex_);
    calls_.push_back(std::move(call));
  }

  void hear(std::size_t index, const Result<net::Response>& answer) {
    {
      const MutexLock lock(mutex_);
      if (answer && answer->code == 200) collected_.add(answer->body, servers_[index].paths);
      if (--left_ > 0) return;
    }
    // The calls, which hold this, are not to go within their own answer.
    context_->core->loop.post([self = shared_from_this()] { self->finish(); });
  }

  void finish() {
    std::vector<std::shared_ptr<void>> calls;
    ForeignOpenApi heard;
    {
      const MutexLock lock(mutex_);
      calls.swap(calls_);
      heard = std::move(collected_);
    }
    context_->sink->courier()->post([then = then_, heard = std::move(heard)] { then(heard); });
  }

  const ContextPtr context_;
  const std::vector<OtherServer> servers_;
  const std::function<void(ForeignOpenApi)> then_;
  Mutex mutex_;
  std::size_t left_ SUBLET_GUARDED_BY(mutex_);
  ForeignOpenApi collected_ SUBLET_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<void>> calls_ SUBLET_GUARDED_BY(mutex_);
};

}  // namespace

ForeignDocuments foreign_documents(const RequestContext& context) {
  if (!context.core->aggregated.any()) return {};
  const auto set = context.core->aggregated.current();
  ForeignDocuments documents{{}, set->key};
  for (const auto& [service, served] : set->apis)
    if (!serves_itself(context, *service))
      documents.apis.push_back(
          {service->group, service->version, served.resources, served.openapi_url, service->available});
  return documents;
}

void with_foreign_openapi(const ContextPtr& context, std::function<void(ForeignOpenApi)> then) {
  auto servers = servers_of(*context);
  if (servers.empty()) return then({});
  std::make_shared<Asked>(context, std::move(servers), std::move(then))->start();
}

}  // namespace sublet::apiserver
