#include "simhost/kai_queues.h"

#include <chrono>
#include <thread>

namespace sublet::simhost {
namespace {

constexpr std::chrono::seconds kEstablished{30};
constexpr std::chrono::milliseconds kPause{5};
const kube::Resource kDefinitions{"apiextensions.k8s.io", "v1", "customresourcedefinitions"};

// What an operator writes into a queue; the parts that KAI's own controllers write are left open.
constexpr std::string_view kQueueType = R"({
  "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
  "metadata": {"name": "queues.scheduling.run.ai"},
  "spec": {
    "group": "scheduling.run.ai", "scope": "Cluster",
    "names": {"plural": "queues", "singular": "queue", "kind": "Queue", "listKind": "QueueList"},
    "versions": [{
      "name": "v2", "served": true, "storage": true, "subresources": {"status": {}},
      "additionalPrinterColumns": [
        {"name": "Priority", "type": "integer", "jsonPath": ".spec.priority"},
        {"name": "Parent", "type": "string", "jsonPath": ".spec.parentQueue"}],
      "schema": {"openAPIV3Schema": {"type": "object", "properties": {
        "spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {
          "displayName": {"type": "string"}, "parentQueue": {"type": "string"}, "priority": {"type": "integer"},
          "resources": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}},
        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}}
    }]
  }
})";

}  // namespace

Outcome write_queue_type(const kube::Client& client) {
  const auto type = schema::Document::parse_json(kQueueType);
  if (!type) return fail(type.error());
  const auto made = client.create(kDefinitions, "", type->root());
  if (!made && !made.error().is(Reason::already_exists)) return fail(made.error());
  // The server establishes a type shortly after it is created.
  const auto deadline = std::chrono::steady_clock::now() + kEstablished;
  for (;;) {
    const auto listed = client.list(kQueueResource, "");
    if (listed) return {};
    if (std::chrono::steady_clock::now() > deadline) return fail(listed.error());
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace sublet::simhost
