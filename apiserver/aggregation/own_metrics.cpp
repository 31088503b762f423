#include "apiserver/aggregation/own_metrics.h"

#include "apiserver/codec/negotiation.h"
#include "sublet/base/status_json.h"
#include "sublet/kube/resource_metrics.h"

namespace sublet::apiserver {
namespace {

using About = kube::MetricsQuestion::About;

constexpr std::string_view kMetricsResources =
    R"({"kind":"APIResourceList","apiVersion":"v1","groupVersion":"metrics.k8s.io/v1beta1","resources":[)"
    R"({"name":"nodes","singularName":"","namespaced":false,"kind":"NodeMetrics","verbs":["get","list"]},)"
    R"({"name":"pods","singularName":"","namespaced":true,"kind":"PodMetrics","verbs":["get","list"]}]})";

void respond(RequestContext& context, int code, std::string body) {
  context.record(code);
  context.sink->respond(code, context.headers(kJsonType), std::move(body));
}

void respond_with_status(RequestContext& context, const Status& status) {
  respond(context, status.http_code(), status_json(status));
}

Status not_served() { return fail(Reason::not_found, "the server could not find the requested resource").value(); }

Status only_json() {
  return fail(Reason::not_acceptable, "only the following media types are accepted: application/json").value();
}

/// What the path asks for; not_found: nothing that there is.
Result<kube::MetricsQuestion> question_of(const RequestContext& context) {
  const RequestInfo& info = context.info;
  kube::MetricsQuestion question;
  question.about = info.resource == "nodes" ? About::nodes : About::pods;
  const bool known = info.resource == "nodes" ? !info.has_namespace : info.resource == "pods";
  const bool placed = info.resource == "nodes" || info.name.empty() || info.has_namespace;
  if (!known || !placed || !info.subresource.empty()) return fail(not_served());
  if (info.verb != Verb::get && info.verb != Verb::list) return fail(method_not_allowed_status());
  question.namespace_name = info.namespace_name;
  question.name = info.name;
  if (info.verb == Verb::get) return question;
  question.label_selector = context.query.get("labelSelector");
  question.field_selector = context.query.get("fieldSelector");
  if (const auto checked = kube::MetricsAnswer::to(question); !checked) return fail(checked.error());
  return question;
}

}  // namespace

std::string_view metrics_resources() { return kMetricsResources; }

void answer_metrics(const ContextPtr& context) {
  const bool of_resource = context->info.is_resource;
  if (!of_resource && context->info.path != kube::kMetricsPath) return respond_with_status(*context, not_served());
  const auto form = negotiate(context->request.headers.get("Accept"), {false, false});
  if (!form) return respond_with_status(*context, form.error());
  if (form->media != Media::json) return respond_with_status(*context, only_json());
  const auto& method = context->request.method;
  if (!of_resource && method != "GET" && method != "HEAD")
    return respond_with_status(*context, method_not_allowed_status());
  if (!of_resource) return respond(*context, 200, std::string(kMetricsResources));
  const auto question = question_of(*context);
  if (!question) return respond_with_status(*context, question.error());
  context->record(200);
  context->core->options.metrics(*question, context->sink);
}

}  // namespace sublet::apiserver
