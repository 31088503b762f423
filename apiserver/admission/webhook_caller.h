// WebhookCaller: calls the endpoint of a webhook's clientConfig (a URL, or a pod behind a Service) through the guarded
// client. Used for admission webhooks, conversion webhooks, and the tenant's own API servers (aggregation/).
//
// Lifecycle: as long as the server; calls hold what they need. Threads: any; each call is answered once, on any thread,
// never within call().
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "apiserver/admission/webhook.h"
#include "sublet/apiserver/outbound.h"
#include "sublet/net/outbound.h"
#include "sublet/store/store.h"

namespace sublet::apiserver {

/// An API server behind a Service, which is shown who the front proxy is.
struct ServicePeer {
  std::string service_namespace, service_name;
  int port = 443;
  std::string ca_pem;
  bool any_certificate = false;
};

class WebhookCaller {
 public:
  WebhookCaller(net::Loop& loop, OutboundOptions options);

  using Answered = std::function<void(Result<std::string> body)>;
  /// Posts `body` as JSON. `state`: where Services are looked up. An error's message says why there is no answer, in
  /// upstream's words. Dropping what it returns cancels.
  std::shared_ptr<void> call(const WebhookClient& client, const store::Snapshot& state, std::string body,
                             std::chrono::milliseconds timeout, Answered answered);
  /// The same with a request of any kind, and its answer whatever its code.
  std::shared_ptr<void> ask(const ServicePeer& peer, const store::Snapshot& state, net::Request request,
                            std::chrono::milliseconds timeout, std::function<void(Result<net::Response>)> answered);
  /// The same without a limit; passes the answer on to `sink` piece by piece. 503 when no server can be reached.
  void relay(const ServicePeer& peer, const store::Snapshot& state, net::Request request,
             std::shared_ptr<net::ResponseSink> sink);

 private:
  struct Way;
  Result<Way> way_to(const ServicePeer& peer, const store::Snapshot& state);

  net::Loop& loop_;
  const ServiceCaller services_;
  const ServiceRelay relay_;
  const bool calls_out_;
  const std::string front_proxy_certificate_pem_, front_proxy_key_pem_;
  net::OutboundClient outbound_;
  std::atomic<std::size_t> turn_{0};  // which of a Service's pods is asked next
};

}  // namespace sublet::apiserver
