// The tunnel's two ends, each with a hostile peer. An input that begins with 'J' is a job as a taken-over API server of
// a tenant would give it, and on further lines what the host answers: whatever it says, the gateway asks the host for
// nothing but that tenant's own pods, what is measured and OpenAPI documents. Any other input is what a taken-over
// syncer sends to the API server, a request a line ("METHOD|ID?QUERY|Name=value,...|BODY"), while clients of every kind
// wait: each hears one head, then bytes, then one end.
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sublet/apiserver/outbound.h"
#include "sublet/apiserver/tunnel.h"
#include "sublet/base/log.h"
#include "sublet/kube/pod_proxy.h"
#include "sublet/net/loop.h"
#include "sublet/syncer/host_gateway.h"
#include "sublet/syncer/translate.h"

namespace {

using namespace sublet;
using std::chrono::milliseconds;

constexpr std::string_view kPath = "/sublet.dev/v1/tunnel";
constexpr std::string_view kPods = "/api/v1/namespaces/team/pods/";

std::string_view cut(std::string_view& rest, char at) {
  const std::size_t end = std::min(rest.find(at), rest.size());
  const std::string_view piece = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return piece;
}

void turn(net::Loop& loop) {
  for (int i = 0; i < 6; ++i) {
    loop.post([&loop] { loop.stop(); });
    loop.run();
  }
}

// The gateway -----------------------------------------------------------------------------------------------------

struct Silent final : net::Exchange {
  explicit Silent(std::shared_ptr<net::ResponseObserver> one) : observer(std::move(one)) {}
  void pause(bool) override {}
  std::shared_ptr<net::ResponseObserver> observer;
};

void answer(const std::shared_ptr<net::ResponseObserver>& observer, int code, std::string_view body) {
  observer->on_head(code, {{"Content-Type", "application/json"}});
  observer->on_body(body);
  observer->on_end({});
}

/// The tenant's side: gives one job, and takes what comes.
class OneJob final : public net::Transport {
 public:
  explicit OneJob(std::string_view job) : job_(job) {}
  std::unique_ptr<net::Exchange> start(net::Request request, std::shared_ptr<net::ResponseObserver> observer,
                                       milliseconds) override {
    if (!request.path().starts_with(kPath)) std::abort();
    if (request.path() != kPath) {
      answer(observer, request.method == "POST" ? 200 : 410, "");
    } else if (!std::exchange(given_, true)) {
      answer(observer, 200, job_);
    }
    return std::make_unique<Silent>(std::move(observer));
  }

 private:
  const std::string job_;
  bool given_ = false;
};

class Host final : public net::Transport {
 public:
  explicit Host(std::string_view answers) {
    while (!answers.empty()) answers_.push_back(cut(answers, '\n'));
  }
  std::unique_ptr<net::Exchange> start(net::Request request, std::shared_ptr<net::ResponseObserver> observer,
                                       milliseconds) override {
    if (!may_be_asked(request)) std::abort();
    std::string_view said;
    if (!answers_.empty()) {
      said = answers_.front();
      answers_.pop_front();
    }
    int code = 404;
    const std::string_view number = cut(said, ' ');
    (void)std::from_chars(number.data(), number.data() + number.size(), code);
    if (code < 200 || code > 599) code = 200;
    answer(observer, code, said);
    return nullptr;
  }

 private:
  static bool may_be_asked(const net::Request& request) {
    const std::string_view path = request.path();
    if (path.find("/../") != std::string_view::npos && path.find("/proxy/") == std::string_view::npos) return false;
    if (path == "/openapi/v3" || path.starts_with("/openapi/v3/")) return request.method == "GET";
    if (path.starts_with("/apis/metrics.k8s.io/v1beta1")) return request.method == "GET";
    if (!path.starts_with(kPods)) return false;
    std::string_view rest = path.substr(kPods.size());
    const std::string name(cut(rest, '/'));
    const std::string_view view = cut(rest, '/');
    if (name.empty() || name == "." || name == "..") return false;
    if (view.empty()) return request.method == "GET";
    return view == "log" || view == "exec" || view == "attach" || view == "portforward" || view == "proxy";
  }
  std::deque<std::string_view> answers_;
};

void gateway(std::string_view input) {
  net::Loop loop;
  const std::string_view job = cut(input, '\n');
  {
    syncer::HostGatewayOptions options;
    options.virtual_cluster_uid = "vc-uid";
    options.host_namespace = "team";
    options.host_name = [](const std::string& space, const std::string& pod) {
      return syncer::host_name(pod, space, "rag");
    };
    const auto every_address = net::AddressRange::parse("::/0");
    if (every_address) options.call_rules.deny(*every_address);  // nothing is called in earnest
    options.measured_pod = [](const std::string& host_pod) -> std::optional<syncer::MeasuredPod> {
      if (host_pod != "web-x-default-x-rag") return std::nullopt;
      return syncer::MeasuredPod{"default", "web", schema::Document::object(), {"main"}};
    };
    options.measured_node = [](const std::string& node) {
      return std::optional(syncer::MeasuredNode{node, schema::Document::object()});
    };
    syncer::HostGateway gateway(loop, std::make_shared<OneJob>(job), std::make_shared<Host>(input), std::move(options));
    gateway.start();
    turn(loop);
    turn(loop);
  }
  turn(loop);
}

// The API server ----------------------------------------------------------------------------------------------------

struct Client final : net::ResponseObserver {
  void on_head(int code, const net::Headers&) override {
    if (heads++ > 0 || ended || code < 100 || code > 599) std::abort();
  }
  void on_body(std::string_view) override {
    if (heads == 0 || ended) std::abort();
  }
  void on_end(Outcome) override {
    if (std::exchange(ended, true)) std::abort();
  }
  int heads = 0;
  bool ended = false;
};

kube::PodConnectRequest session(const char* subresource) {
  kube::PodConnectRequest request;
  request.namespace_name = "default";
  request.pod_name = "web";
  request.pod_uid = "u-web";
  request.subresource = subresource;
  request.method = "POST";
  request.headers = {{"Connection", "Upgrade"}, {"Upgrade", "SPDY/3.1"}};
  return request;
}

apiserver::ServiceCall call_of_web() {
  apiserver::ServiceCall call;
  call.pod_namespace = "default";
  call.pod_name = "web";
  call.pod_uid = "u-web";
  call.port = 443;
  return call;
}

net::Handler clients_of(apiserver::Tunnel& tunnel) {
  return [logs = tunnel.pod_logs(), connect = tunnel.pod_connections(), metrics = tunnel.metrics(),
          relay = tunnel.service_relay()](const net::Request& request, const std::shared_ptr<net::ResponseSink>& sink) {
    if (request.path() == "/log") logs({"default", "web", "u-web", "follow=true"}, sink);
    if (request.path() == "/exec") connect(session("exec"), sink);
    if (request.path() == "/proxy") {
      kube::PodProxyRequest proxied;
      static_cast<kube::PodConnectRequest&>(proxied) = session("proxy");
      proxied.port = "80";
      proxied.path = "/";
      connect(proxied, sink);
    }
    if (request.path() == "/metrics") metrics({}, sink);
    if (request.path() == "/relay") relay(call_of_web(), sink);
  };
}

net::Request request_of(std::string_view line) {
  net::Request request;
  request.method = std::string(cut(line, '|'));
  const std::string_view target = cut(line, '|');
  request.target = std::string(kPath) + (target.empty() ? "" : "/") + std::string(target);
  for (std::string_view headers = cut(line, '|'); !headers.empty();) {
    std::string_view value = cut(headers, ',');
    const std::string_view name = cut(value, '=');
    request.headers.add(std::string(name), std::string(value));
  }
  request.body = std::string(line);
  return request;
}

void api_server(std::string_view input) {
  net::Loop loop;
  {
    apiserver::Tunnel tunnel(loop);
    const auto from_socket = [inner = tunnel.wrap(clients_of(tunnel))](net::Request request,
                                                                       std::shared_ptr<net::ResponseSink> sink) {
      request.peer.kind = net::PeerIdentity::Kind::unix_socket;
      inner(std::move(request), std::move(sink));
    };
    const auto transport = net::make_in_process_transport(from_socket, {}, &loop);
    std::vector<std::unique_ptr<net::Exchange>> open;
    const auto send = [&](net::Request request) {
      open.push_back(transport->start(std::move(request), std::make_shared<Client>(), milliseconds(0)));
      turn(loop);
    };
    for (const char* path : {"/log", "/exec", "/proxy", "/metrics", "/relay"}) {
      net::Request request;
      request.method = "GET";
      request.target = path;
      send(std::move(request));
    }
    tunnel.host_openapi()("apis/apps/v1", [](const Result<std::string>&) {});
    const auto check = tunnel.metrics_check()([](std::optional<bool>) {});
    for (int requests = 0; !input.empty() && requests < 32; ++requests) send(request_of(cut(input, '\n')));
    open.clear();
    turn(loop);
  }
  turn(loop);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  log::set_level(log::Level::error);
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (input.starts_with('J'))
    gateway(input.substr(1));
  else
    api_server(input);
  return 0;
}
