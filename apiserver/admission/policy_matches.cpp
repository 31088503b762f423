#include "apiserver/admission/policy_matches.h"

#include "apiserver/codec/object_bytes.h"
#include "apiserver/conversion/conversion.h"
#include "apiserver/request/object_key.h"

namespace sublet::apiserver {
namespace {

using schema::Document;

const schema::ResourceFacts* resource_of_params(const AdmissionRequest& request, const AdmissionPolicy& policy) {
  const std::string& version = policy.param_version;
  const auto slash = version.find('/');
  const std::string group = slash == std::string::npos ? std::string() : version.substr(0, slash);
  const auto* facts = request.attempt().context.kinds.find_resource_of_kind(
      group, slash == std::string::npos ? version : version.substr(slash + 1), policy.param_kind);
  return facts && facts->served ? facts : nullptr;
}

Result<Document> as_params(const AdmissionRequest& request, const schema::ResourceFacts& facts,
                           const store::Object& stored) {
  const auto* conversion = request.attempt().context.kinds.entry<Conversion>(facts);
  auto document = conversion && conversion->outside ? conversion->outside->read(stored) : stored_document(stored);
  if (!document) return document;
  if (conversion) conversion->from_storage(document->root());
  document->root().put("apiVersion", api_version(facts.group, facts.version));
  document->root().put("kind", facts.kind);
  return document;
}

tl::unexpected<Status> misconfigured(std::string why) { return fail(Reason::invalid, std::move(why)); }

// Whether there is such a kind.
Outcome check_param_kind(const AdmissionRequest& request, const AdmissionPolicy& policy) {
  if (policy.param_kind.empty() || resource_of_params(request, policy)) return {};
  return misconfigured("failed to find resource referenced by paramKind: '" + policy.param_version +
                       ", Kind=" + policy.param_kind + "'");
}

// One evaluation for each; a null document where there are no parameters.
Result<std::vector<Document>> collect_params(const AdmissionRequest& request, const AdmissionPolicy& policy,
                                             const PolicyBinding& binding) {
  std::vector<Document> params;
  if (policy.param_kind.empty() || !binding.has_param_ref) {
    params.emplace_back();
    return params;
  }
  const auto* facts = resource_of_params(request, policy);
  if (!facts) return misconfigured("paramKind kind `" + policy.param_kind + "` not known");
  std::string space;
  if (facts->namespaced) {
    space = binding.param_namespace.empty() ? std::string(request.namespace_name()) : binding.param_namespace;
    if (space.empty())
      return misconfigured("cannot use namespaced paramRef in policy binding that matches cluster-scoped resources");
  } else if (!binding.param_namespace.empty()) {
    return misconfigured("paramRef.namespace must not be provided for a cluster-scoped `paramKind`");
  }
  const store::Snapshot& pending = request.attempt().context.pending;
  const schema::ResourceFacts& storage = request.attempt().context.kinds.storage_of(*facts);
  Outcome read;
  const auto take = [&](const store::ObjectPtr& object) {
    auto document = as_params(request, *facts, *object);
    if (!document) {
      read = fail(document.error());
      return false;
    }
    params.push_back(std::move(*document));
    return true;
  };
  if (!binding.param_name.empty()) {
    if (const auto object = pending.get(object_key(storage, space, binding.param_name))) take(object);
  } else if (binding.param_selector) {
    pending.scan(key_prefix(storage, space), {}, [&](const store::ObjectPtr& object) {
      const std::span<const std::pair<std::string, std::string>> labels(object->index.labels.all());
      return !binding.param_selector->matches(labels) || take(object);
    });
  }
  if (!read) return fail(read.error());
  if (params.empty() && binding.deny_without_params)
    return misconfigured("no params found for policy binding with `Deny` parameterNotFoundAction");
  return params;
}

}  // namespace

void for_each_match(const AdmissionRequest& request, const std::vector<BoundPolicy>& policies,
                    const std::function<void(PolicyMatch)>& ask, const PolicyFault& fault) {
  for (const BoundPolicy& bound : policies) {
    const AdmissionPolicy& policy = *bound.policy;
    const auto of_policy = [&](const Status& status) {
      fault(policy, nullptr, "failed to configure policy: " + status.message);
    };
    const auto matched = policy.matching.match(request);
    if (!matched) of_policy(matched.error());
    if (!matched || !*matched) continue;
    if (const auto known = check_param_kind(request, policy); !known) {
      of_policy(known.error());
      continue;
    }
    for (const auto& binding : bound.bindings) {
      const auto of_binding = [&](const Status& status) {
        fault(policy, binding.get(), "failed to configure binding: " + status.message);
      };
      const auto binds = binding->matching.match(request);
      if (!binds) of_binding(binds.error());
      if (!binds || !*binds) continue;
      auto params = collect_params(request, policy, *binding);
      if (!params) of_binding(params.error());
      if (!params) continue;
      for (auto& each : *params) ask({policy, *binding, **matched, std::move(each)});
    }
  }
}

}  // namespace sublet::apiserver
