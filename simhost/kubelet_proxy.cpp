// The pod's own server behind pods/NAME/proxy.
#include <charconv>

#include "simhost/kubelet.h"
#include "simhost/pod_server.h"
#include "sublet/base/status_json.h"
#include "sublet/net/duplex.h"

namespace sublet::simhost {
namespace {

class Echo final : public net::Duplex::Observer {
 public:
  explicit Echo(std::shared_ptr<net::Duplex> connection) : connection_(std::move(connection)) {}
  void on_bytes(std::string_view bytes) override {
    connection_->write(std::string(bytes));
    if (connection_->backlog() > net::kSpliceBytesMax) connection_->pause(true);
  }
  void on_drain() override { connection_->pause(false); }
  void on_end() override { connection_->end(); }
  void on_over() override { connection_.reset(); }

 private:
  std::shared_ptr<net::Duplex> connection_;
};

std::string parameter(const kube::PodProxyRequest& request, std::string_view name) {
  for (auto& [key, value] : net::parse_query(request.query))
    if (key == name) return value;
  return "";
}

int asked_code(const std::string& text) {
  int code = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), code);
  return read.ec == std::errc() && code >= 200 && code <= 599 ? code : 400;
}

// The first port that a container names, as the API server chooses it.
std::string first_port(const PodRun& run) {
  const auto pod = run.pod->document();
  for (const schema::Value container : pod["spec"]["containers"])
    for (const schema::Value port : container["ports"]) return std::to_string(port["containerPort"].integer());
  return "80";
}

}  // namespace

net::Response answer_of_pod_server(const kube::PodProxyRequest& request, const std::string& pod,
                                   const std::string& port) {
  const std::string target = request.path + (request.query.empty() ? "" : "?" + request.query);
  if (request.path == "/redirect") {
    std::string to = parameter(request, "location");
    if (to.starts_with('/')) to = request.prefix + to;
    return {302, {{"Location", to}}, ""};
  }
  if (request.path.ends_with(".html"))
    return {200,
            {{"Content-Type", "text/html; charset=utf-8"}},
            "<html><body><a href=\"" + request.prefix + "/\">pod " + pod + "</a></body></html>\n"};
  const int code = request.path == "/status" ? asked_code(parameter(request, "code")) : 200;
  return {code,
          {{"Content-Type", "text/plain"}, {"Server", "simhost"}},
          "simhost: pod " + pod + " port " + port + ": " + request.method + " " + target + "\n" + request.body};
}

bool speaks_protocol(const net::Headers& headers) {
  return kube::asks_for_upgrade(headers) && !net::Headers{{std::string(headers.get("Upgrade")), ""}}.has("websocket");
}

void echo_bytes(const net::Headers& headers, net::ResponseSink& sink) {
  net::upgradable(sink)->upgrade(
      {{"Connection", "Upgrade"}, {"Upgrade", std::string(headers.get("Upgrade"))}},
      [](const std::shared_ptr<net::Duplex>& made) { made->start(std::make_shared<Echo>(made)); });
}

void Kubelet::proxy(const kube::PodProxyRequest& request, const std::shared_ptr<net::ResponseSink>& sink) {
  const auto found = runs_.find(request.pod_uid);
  const auto refuse = [&](const Status& status) {
    sink->respond(status.http_code(), {{"Content-Type", "application/json"}}, status_json(status));
  };
  if (found == runs_.end()) return refuse(not_found_status("", "pods", request.pod_name));
  const PodRun& run = *found->second;
  const std::string port = request.port.empty() ? first_port(run) : request.port;
  if (run.phase != "Running")
    return refuse(fail(Reason::service_unavailable, "error trying to reach service: dial tcp " + run.ip + ":" + port +
                                                        ": connect: connection refused")
                      .value());
  if (speaks_protocol(request.headers) && net::upgradable(*sink)) return echo_bytes(request.headers, *sink);
  net::Response answer = answer_of_pod_server(request, run.namespace_name + "/" + run.name, port);
  sink->respond(answer.code, std::move(answer.headers), std::move(answer.body));
}

}  // namespace sublet::simhost
