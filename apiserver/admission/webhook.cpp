#include "apiserver/admission/webhook.h"

#include "sublet/schema/engine.h"

namespace sublet::apiserver {

using schema::Value;

WebhookClient WebhookClient::read(const Value& config) {
  WebhookClient client;
  client.url = config["url"].string();
  const Value service = config["service"];
  client.service_namespace = service["namespace"].string();
  client.service_name = service["name"].string();
  client.path = service["path"].string();
  if (!client.path.empty() && client.path.front() != '/') client.path.insert(0, 1, '/');
  client.port = static_cast<int>(service["port"].integer(443));
  client.ca_pem = schema::base64_decode(config["caBundle"].text()).value_or("");
  return client;
}

std::string WebhookClient::address() const {
  if (!url.empty()) return url;
  return "https://" + service_name + "." + service_namespace + ".svc:" + std::to_string(port) + path;
}

Webhook Webhook::read(const Value& configuration, const Value& webhook, std::size_t index, bool mutating) {
  Webhook made;
  made.configuration = configuration["metadata"]["name"].string();
  made.name = webhook["name"].string();
  made.id = made.configuration + "/" + made.name + "/" + std::to_string(index);
  made.matching = Matching::of_webhook(webhook);
  made.ignores_failures = webhook["failurePolicy"].text() == "Ignore";
  made.conditions = MatchConditions::read(webhook["matchConditions"], PolicyEnvironment({}), !made.ignores_failures);
  made.client = WebhookClient::read(webhook["clientConfig"]);
  made.mutating = mutating;
  made.reinvoke = webhook["reinvocationPolicy"].text() == "IfNeeded";
  const auto effects = webhook["sideEffects"].text();
  made.has_side_effects = effects != "None" && effects != "NoneOnDryRun";
  made.timeout = std::chrono::seconds(webhook["timeoutSeconds"].integer(10));
  for (const Value version : webhook["admissionReviewVersions"])
    if (made.review_version.empty() && (version.text() == "v1" || version.text() == "v1beta1"))
      made.review_version = version.text();
  return made;
}

}  // namespace sublet::apiserver
