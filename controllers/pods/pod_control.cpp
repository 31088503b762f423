#include "controllers/pods/pod_control.h"

#include <algorithm>

#include "controllers/runtime/calls.h"
#include "controllers/runtime/event_recorder.h"
#include "controllers/runtime/kinds.h"

namespace sublet::controllers {
namespace {

using schema::Document;
using schema::Value;

constexpr int kFirstBatch = 1;

/// With a dash, unless that makes it too long.
std::string name_prefix(const std::string& owner) { return owner.size() < kObjectNameMax ? owner + "-" : owner; }

}  // namespace

Document pod_from_template(const Value& pod_template, const ObjectRef& owner) {
  auto pod = Document::object();
  auto metadata = pod.root().object("metadata");
  metadata.put("generateName", name_prefix(owner.name));
  for (auto field : {"labels", "annotations", "finalizers"})
    if (auto value = pod_template["metadata"][field]; !value.empty()) metadata.put(field, value);
  put_controller_ref(metadata, owner);
  pod.root().put("spec", pod_template["spec"]);
  return pod;
}

void PodControl::record_created(const ObjectRef& owner, const Result<Document>& result) const {
  if (result)
    context_.events().normal(owner, "SuccessfulCreate", "Created pod: " + (*result)["metadata"]["name"].string());
  else if (!is_namespace_ending(result.error()))
    context_.events().warning(owner, "FailedCreate", "Error creating: " + result.error().message);
}

Created PodControl::create(const ObjectRef& owner, int count, const Make& make) const {
  Created created;
  int made = 0;
  for (int batch = std::min(count, kFirstBatch); batch > 0; batch = std::min(2 * batch, count - made)) {
    std::vector<net::Request> requests;
    for (int i = 0; i < batch; ++i)
      requests.push_back(context_.client().create_request(kPods, owner.namespace_name, make(made + i).root()));
    for (const auto& result : call_all(context_.client(), std::move(requests))) {
      record_created(owner, result);
      if (result) ++created.count;
      if (!result && is_namespace_ending(result.error())) return created;
      if (!result && !created.error) created.error = result.error();
    }
    if (created.error) break;
    made += batch;
  }
  return created;
}

Result<Document> PodControl::create(const ObjectRef& owner, const Value& pod) const {
  auto result = context_.client().create(kPods, owner.namespace_name, pod);
  record_created(owner, result);
  return result;
}

Outcome PodControl::remove(const ObjectRef& owner, const std::vector<std::string>& names) const {
  std::vector<net::Request> requests;
  for (const auto& name : names)
    requests.push_back(context_.client().remove_request(kPods, owner.namespace_name, name));
  const auto results = call_all(context_.client(), std::move(requests));
  Outcome outcome;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (results[i]) {
      context_.events().normal(owner, "SuccessfulDelete", "Deleted pod: " + names[i]);
    } else if (!results[i].error().is(Reason::not_found)) {
      context_.events().warning(owner, "FailedDelete", "Error deleting: " + results[i].error().message);
      if (outcome) outcome = fail(results[i].error().reason, "unable to delete pods: " + results[i].error().message);
    }
  }
  return outcome;
}

}  // namespace sublet::controllers
