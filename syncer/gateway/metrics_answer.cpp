#include "syncer/gateway/metrics_answer.h"

#include <algorithm>

#include "sublet/base/status_json.h"
#include "sublet/syncer/node_names.h"
#include "sublet/syncer/translate.h"

namespace sublet::syncer {
namespace {

using About = kube::MetricsQuestion::About;
using schema::Document;
using schema::Value;

net::Response response(const Status& status) {
  return {status.http_code(), {{"Content-Type", "application/json"}}, status_json(status)};
}

Status unavailable() {
  return fail(Reason::service_unavailable, "the server is currently unable to handle the request").value();
}

/// What was measured, without metadata of the host.
void put_measured(Value to, const Value& from) {
  for (const char* member : {"timestamp", "window"})
    if (from.has(member)) to.put(member, from[member]);
}

void add_pod(kube::MetricsAnswer& answer, const Value& item, const HostGatewayOptions& options) {
  const Value metadata = item["metadata"];
  if (metadata["namespace"].text() != options.host_namespace) return;
  const auto pod = options.measured_pod(metadata["name"].string());
  if (!pod || !answer.wants(pod->namespace_name, pod->name, pod->labels.root())) return;
  const Value made =
      answer.add(pod->namespace_name, pod->name, pod->labels.root(), metadata["creationTimestamp"].text());
  put_measured(made, item);
  Value containers = Value(made).array("containers");
  for (const Value container : item["containers"])
    if (std::ranges::find(pod->containers, container["name"].text()) != pod->containers.end()) {
      Value known = containers.push_object();
      known.put("name", container["name"].text());
      known.put("usage", container["usage"]);
    }
}

void add_node(kube::MetricsAnswer& answer, const Value& item, const HostGatewayOptions& options) {
  const Value metadata = item["metadata"];
  const auto node = options.measured_node(metadata["name"].string());
  if (!node || !answer.wants("", node->name, node->labels.root())) return;
  const Value made = answer.add("", node->name, node->labels.root(), metadata["creationTimestamp"].text());
  put_measured(made, item);
  if (item.has("usage")) Value(made).put("usage", item["usage"]);
}

}  // namespace

bool is_offered(About about, const HostGatewayOptions& options) {
  if (about == About::api) return options.measured_pod || options.measured_node;
  return about == About::nodes ? bool(options.measured_node) : bool(options.measured_pod);
}

bool is_name(std::string_view text) {
  return !text.empty() && text.front() != '.' && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
  });
}

Result<std::string> host_target(const kube::MetricsQuestion& question, const HostGatewayOptions& options) {
  const std::string root(kube::kMetricsPath);
  if (question.about == About::api) return root;
  for (const std::string& name : {question.name, question.namespace_name})
    if (!name.empty() && !is_name(name)) return bad_request("this is no object's name");
  if (question.about == About::nodes) {
    const auto host_node = [&](const std::string& name) {
      return options.node_names ? options.node_names->to_host(name) : name;
    };
    return root + "/nodes" + (question.name.empty() ? "" : "/" + host_node(question.name));
  }
  const std::string pods = root + "/namespaces/" + options.host_namespace + "/pods";
  if (!question.name.empty()) return pods + "/" + options.host_name(question.namespace_name, question.name);
  return pods +
         "?labelSelector=" + net::percent_encode(std::string(kLabelTenantUid) + "=" + options.virtual_cluster_uid);
}

net::Response tenant_answer(const kube::MetricsQuestion& question, const HostGatewayOptions& options, int code,
                            const std::string& body) {
  auto answer = kube::MetricsAnswer::to(question);
  if (!answer) return response(answer.error());
  const bool of_api = question.about == About::api;
  if (of_api) return {code, {{"Content-Type", "application/json"}}, code == 200 ? body : "{}"};
  // One that the host does not measure; the host's own words name its objects.
  if (code == 404 && !question.name.empty()) return answer->response();
  const auto document = code == 200 ? Document::parse_json(body) : Result<Document>(internal_error("no metrics"));
  if (!document) return response(unavailable());
  const auto add = question.about == About::pods ? add_pod : add_node;
  if (!question.name.empty())
    add(*answer, document->root(), options);
  else
    for (const Value item : (*document)["items"]) add(*answer, item, options);
  return answer->response();
}

}  // namespace sublet::syncer
