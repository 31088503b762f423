// Outbound: how an API server reaches what its tenant names: webhooks, by URL or as a Service, and the tenant's own API
// servers behind a Service (APIService).
//
// URLs are called through a net::OutboundClient, whose rules restrict the addresses. Pods behind a Service are called
// at their addresses by the same client; in a virtual cluster through a ServiceCaller, because only the syncer knows
// the pods' addresses on the host. Values; the hook is called on any thread.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sublet/base/status.h"
#include "sublet/net/address_rules.h"
#include "sublet/net/http.h"

namespace sublet::apiserver {

/// One HTTPS request to a pod that stands behind a Service.
struct ServiceCall {
  std::string pod_namespace, pod_name, pod_uid;
  int port = 0;
  std::string server_name;  // sent, and verified in the pod's certificate
  std::string ca_pem;
  net::Request request;
  std::chrono::milliseconds timeout{10'000};
  bool any_certificate = false;              // an APIService's insecureSkipTLSVerify
  std::string certificate_pem{}, key_pem{};  // shown to the pod; empty: none
};
/// Calls `done` once, on any thread, after it has returned; never when the returned handle is dropped before.
using ServiceCaller =
    std::function<std::shared_ptr<void>(ServiceCall call, std::function<void(Result<net::Response>)> done)>;
/// The same for an answer that is passed on piece by piece (timeout zero: no limit). Answers through the sink, with 503
/// when the pod cannot be reached.
using ServiceRelay = std::function<void(ServiceCall call, std::shared_ptr<net::ResponseSink> sink)>;

struct OutboundOptions {
  net::AddressRules rules;
  bool calls_out = true;        // else only `services` are called; URLs are refused with the reason
  ServiceCaller services = {};  // null: at the addresses in the Service's EndpointSlices
  ServiceRelay relay = {};      // null with `services`
  /// Client certificate of the front proxy, which the tenant's own API servers trust to name the user.
  std::string front_proxy_certificate_pem{}, front_proxy_key_pem{};
};

}  // namespace sublet::apiserver
