// Webhook: one webhook of a ValidatingWebhookConfiguration or MutatingWebhookConfiguration, read once.
//
// Immutable; any thread. Internal to admission/.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "apiserver/admission/policy.h"

namespace sublet::apiserver {

/// Where it listens: a URL, or a port of a Service.
struct WebhookClient {
  std::string url;  // empty: a Service
  std::string service_namespace, service_name, path;
  int port = 443;
  std::string ca_pem;

  static WebhookClient read(const schema::Value& client_config);
  /// As messages name it, without the query: "https://a.b.svc:443/path".
  std::string address() const;
};

struct Webhook {
  std::string configuration, name, id;
  Matching matching;
  MatchConditions conditions;
  WebhookClient client;
  bool mutating = false;
  bool ignores_failures = false, reinvoke = false;
  bool has_side_effects = false;  // on a dry run, too
  std::chrono::seconds timeout{10};
  std::string review_version;  // of admission.k8s.io, the first that we know; empty: none

  static Webhook read(const schema::Value& configuration, const schema::Value& webhook, std::size_t index,
                      bool mutating);
};

}  // namespace sublet::apiserver
