// WebhookCaller: the way from a webhook's clientConfig to its answer: who is asked (a URL, a pod behind a Service), and
// the request over the guarded client. It serves admission's webhooks and those that convert custom resources.
//
// Lifecycle: as long as the server; calls hold what they need. Threads: any; answers come once, on any, never within
// call().
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

class WebhookCaller {
 public:
  WebhookCaller(net::Loop& loop, OutboundOptions options);

  using Answered = std::function<void(Result<std::string> body)>;
  /// Posts `body` as JSON. `state`: where Services are looked up. An error's message says why there is no answer, in
  /// upstream's words. Dropping what it returns cancels.
  std::shared_ptr<void> call(const WebhookClient& client, const store::Snapshot& state, std::string body,
                             std::chrono::milliseconds timeout, Answered answered);

 private:
  net::Loop& loop_;
  const ServiceCaller services_;
  const bool calls_out_;
  net::OutboundClient outbound_;
  std::atomic<std::size_t> turn_{0};  // which of a Service's pods is asked next
};

}  // namespace sublet::apiserver
