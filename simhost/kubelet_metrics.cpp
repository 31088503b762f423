// The usage of the simulated nodes and their pods (simhost/usage.h), in the form of metrics-server.
#include "simhost/kubelet.h"
#include "simhost/usage.h"
#include "sublet/base/status_json.h"

namespace sublet::simhost {
namespace {

using About = kube::MetricsQuestion::About;
using schema::Document;
using schema::Value;

constexpr const char* kWindow = "1s";  // usage is constant from the container's start

Document labels_of(const kube::CachedObject& object) {
  auto labels = Document::parse_json(object.raw({"metadata", "labels"}));
  return labels ? std::move(*labels) : Document::object();
}

bool is_measured(const ContainerRun& container) { return container.state == ContainerRun::State::running; }

void put_time(Value measured, const std::string& now) {
  measured.put("timestamp", now);
  measured.put("window", kWindow);
}

}  // namespace

void Kubelet::add_pods(kube::MetricsAnswer& answer, const std::string& now) const {
  for (const auto& [uid, run] : runs_) {
    if (run->phase != "Running" || run->stopping) continue;
    const Document labels = labels_of(*run->pod);
    if (!answer.wants(run->namespace_name, run->name, labels.root())) continue;
    const Document pod = run->pod->document();
    Value measured = answer.add(run->namespace_name, run->name, labels.root(), now);
    put_time(measured, now);
    Value containers = measured.array("containers");
    for (const ContainerRun& container : run->containers) {
      if (!is_measured(container)) continue;
      Value entry = containers.push_object();
      entry.put("name", container.name);
      container_usage(container_spec(pod.root(), container)).put(entry.object("usage"));
    }
  }
}

void Kubelet::add_nodes(kube::MetricsAnswer& answer, const std::string& now) const {
  for (const auto& [name, node] : nodes_) {
    if (!answer.wants("", name, node.labels.root())) continue;
    Usage usage = idle_node_usage();
    for (const auto& [uid, run] : runs_) {
      if (run->node != name || run->phase != "Running" || run->stopping) continue;
      const Document pod = run->pod->document();
      for (const ContainerRun& container : run->containers)
        if (is_measured(container)) usage += container_usage(container_spec(pod.root(), container));
    }
    Value measured = answer.add("", name, node.labels.root(), now);
    put_time(measured, now);
    usage.put(measured.object("usage"));
  }
}

void Kubelet::answer_metrics(const kube::MetricsQuestion& question,
                             const std::shared_ptr<net::ResponseSink>& sink) const {
  auto answer = kube::MetricsAnswer::to(question);
  if (!answer)
    return sink->respond(answer.error().http_code(), {{"Content-Type", "application/json"}},
                         status_json(answer.error()));
  const std::string now = format_time(clock_.now());
  if (question.about == About::pods) add_pods(*answer, now);
  if (question.about == About::nodes) add_nodes(*answer, now);
  net::Response said = answer->response();
  sink->respond(said.code, std::move(said.headers), std::move(said.body));
}

}  // namespace sublet::simhost
