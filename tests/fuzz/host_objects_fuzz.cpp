// The host as the syncer hears it: lists, watch events and answers of a hostile or broken host, for every kind that
// crosses, to the whole syncer between two pretended servers. Whatever the host says: the syncer comes to rest, what it
// writes is JSON, and on the host it writes nothing outside its own namespace (but kinds that have none).
//
// An input is lines: "RESOURCE LIST {...}" is the answer to the list of that resource, "RESOURCE WATCH ..." bytes of
// its watch, "ANSWER CODE {...}" the next answer to a reconciler; every other list is empty, every other answer an
// echo.
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "sublet/base/log.h"
#include "sublet/patches/template.h"
#include "sublet/syncer/syncer.h"
#include "tests/simulation/order.h"
#include "tests/simulation/sim_clock.h"

namespace {

using namespace sublet;
using simulation::SimClock;
using simulation::SimExecutor;
using simulation::SimStrand;

constexpr int kStepsMax = 20'000;

constexpr const char* kTemplate = R"(sync:
  toHost: {ingresses: {enabled: true}, networkPolicies: {enabled: true}, podDisruptionBudgets: {enabled: true},
    serviceAccounts: {enabled: true}, priorityClasses: {enabled: true}, resourceClaims: {enabled: true},
    resourceClaimTemplates: {enabled: true},
    customResources: {certificates.cert-manager.io: {enabled: true, patches: [{path: spec.secretName,
      reference: {apiVersion: v1, kind: Secret}}]}}}
  fromHost: {storageClasses: {enabled: true}, ingressClasses: {enabled: true},
    csiDrivers: {enabled: true}, csiNodes: {enabled: true}, deviceClasses: {enabled: true},
    configMaps: {enabled: true, mappings: {byName: {"shared/*": "from-host/*"}}},
    secrets: {enabled: true, mappings: {byName: {"shared/pull": "default/registry"}}}}
policies: {resourceQuota: {enabled: true}, limitRange: {enabled: true}}
)";

// What the tenant has: an object of each kind that comes back changed.
constexpr const char* kTenant =
    R"(pods LIST {"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"9"},"items":[{"metadata":{"name":"web","namespace":"default","uid":"u-web","resourceVersion":"3"},"spec":{"serviceAccountName":"default","containers":[{"name":"main","image":"i","envFrom":[{"configMapRef":{"name":"settings"}}],"volumeMounts":[{"name":"d","mountPath":"/d"}]}],"volumes":[{"name":"d","persistentVolumeClaim":{"claimName":"data"}}]},"status":{"phase":"Pending"}},{"metadata":{"name":"new","namespace":"default","uid":"u-new","resourceVersion":"4"},"spec":{"containers":[{"name":"main","image":"i"}]},"status":{"phase":"Pending"}}]}
services LIST {"metadata":{"resourceVersion":"9"},"items":[{"metadata":{"name":"front","namespace":"default","uid":"u-front","resourceVersion":"3"},"spec":{"selector":{"app":"web"},"ports":[{"port":80}]}}]}
persistentvolumeclaims LIST {"metadata":{"resourceVersion":"9"},"items":[{"metadata":{"name":"data","namespace":"default","uid":"u-data","resourceVersion":"3"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}]}
configmaps LIST {"metadata":{"resourceVersion":"9"},"items":[{"metadata":{"name":"settings","namespace":"default","uid":"u-set","resourceVersion":"3"},"data":{"k":"v"}}]}
ingresses LIST {"metadata":{"resourceVersion":"9"},"items":[{"metadata":{"name":"way","namespace":"default","uid":"u-way","resourceVersion":"3"},"spec":{"rules":[{"host":"a.b"}]}}]}
resourceclaims LIST {"metadata":{"resourceVersion":"9"},"items":[{"metadata":{"name":"gpu","namespace":"default","uid":"u-gpu","resourceVersion":"3"},"spec":{}}]}
certificates LIST {"metadata":{"resourceVersion":"9"},"items":[{"apiVersion":"cert-manager.io/v1","kind":"Certificate","metadata":{"name":"cert","namespace":"default","uid":"u-cert","resourceVersion":"3"},"spec":{"secretName":"cert-tls"}}]}
namespaces LIST {"metadata":{"resourceVersion":"9"},"items":[{"metadata":{"name":"default","uid":"u-ns","resourceVersion":"1"}}]}
)";

bool is_json(const std::string& text) { return bool(schema::Document::parse_json(text)); }

/// A server that says what its lines say.
class Pretender final : public net::Transport {
 public:
  Pretender(std::string_view lines, bool is_host) : is_host_(is_host) {
    for (std::size_t at = 0; at < lines.size();) {
      const std::size_t end = std::min(lines.find('\n', at), lines.size());
      take(lines.substr(at, end - at));
      at = end + 1;
    }
  }

  std::unique_ptr<net::Exchange> start(net::Request request, std::shared_ptr<net::ResponseObserver> observer,
                                       std::chrono::milliseconds) override {
    const std::string resource(request.path().substr(request.path().rfind('/') + 1));
    if (request.query().find("watch=") != std::string_view::npos) return watch(resource, std::move(observer));
    const auto list = lists_.find(resource);
    if (request.method == "GET" && list != lists_.end()) {
      answer(*observer, 200, list->second);
    } else if (request.method == "GET" && request.query().find("limit=") != std::string_view::npos) {
      answer(*observer, 200, R"({"metadata":{"resourceVersion":"1"},"items":[]})");
    } else {
      if (request.method != "GET") look_at(request);
      if (!answers_.empty()) {
        const auto [code, body] = std::move(answers_.front());
        answers_.pop_front();
        answer(*observer, code, body);
      } else {
        answer(*observer, request.method == "GET" ? 404 : 200, request.method == "GET" ? "{}" : request.body);
      }
    }
    return nullptr;
  }

  /// Tells the next piece of a watch; false: there is none.
  bool tell() {
    for (auto& [resource, pieces] : events_) {
      const auto heard = watches_.find(resource);
      if (pieces.empty() || heard == watches_.end()) continue;
      const auto observer = heard->second.lock();
      if (!observer) continue;
      const std::string piece = std::move(pieces.front()) + "\n";
      pieces.pop_front();
      observer->on_body(piece);
      return true;
    }
    return false;
  }

 private:
  /// Holds the observer as long as somebody listens.
  struct Listening final : net::Exchange {
    explicit Listening(std::shared_ptr<net::ResponseObserver> one) : observer(std::move(one)) {}
    void pause(bool) override {}
    std::shared_ptr<net::ResponseObserver> observer;
  };

  void take(std::string_view line) {
    const std::size_t first = line.find(' '), second = line.find(' ', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) return;
    const std::string resource(line.substr(0, first)), rest(line.substr(second + 1));
    const std::string_view what = line.substr(first + 1, second - first - 1);
    if (what == "LIST") lists_[resource] = rest;
    if (what == "WATCH") events_[resource].push_back(rest);
    int code = 0;
    if (resource == "ANSWER" && std::from_chars(what.data(), what.data() + what.size(), code).ec == std::errc() &&
        code >= 200 && code < 600)
      answers_.emplace_back(code, rest);
  }

  static void answer(net::ResponseObserver& observer, int code, const std::string& body) {
    observer.on_head(code, {{"Content-Type", "application/json"}});
    observer.on_body(body);
    observer.on_end({});
  }

  std::unique_ptr<net::Exchange> watch(const std::string& resource, std::shared_ptr<net::ResponseObserver> observer) {
    watches_[resource] = observer;
    observer->on_head(200, {});
    return std::make_unique<Listening>(std::move(observer));
  }

  void look_at(const net::Request& request) const {
    if (!request.body.empty() && !is_json(request.body)) std::abort();
    if (!is_host_) return;
    const std::string_view path = request.path();
    if (path.find("/namespaces/team/") == std::string_view::npos && !path.starts_with("/apis/scheduling.k8s.io/"))
      std::abort();
  }

  const bool is_host_;
  std::map<std::string, std::string> lists_;
  std::map<std::string, std::deque<std::string>> events_;
  std::map<std::string, std::weak_ptr<net::ResponseObserver>> watches_;
  std::deque<std::pair<int, std::string>> answers_;
};

syncer::TranslateContext the_context() {
  syncer::TranslateContext context;
  context.virtual_cluster = "rag";
  context.virtual_cluster_uid = "vc-uid";
  context.host_namespace = "team";
  context.host_service_account = "workload";
  context.api_server_host = "10.1.2.3";
  context.api_server_port = "443";
  const auto loaded = patches::Template::load(kTemplate, "fuzz.yaml");
  if (!loaded) std::abort();
  context.resolved_template = loaded->resolve({}, "rag", "team").value();
  context.served_kinds["certificates.cert-manager.io"] = {"v1", "Certificate", true};
  return context;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const syncer::TranslateContext context = [] {
    log::set_level(log::Level::error);
    return the_context();
  }();
  const auto host = std::make_shared<Pretender>(std::string_view(reinterpret_cast<const char*>(data), size), true);
  const auto tenant = std::make_shared<Pretender>(kTenant, false);
  SimClock clock;
  SeededRandom random(1);
  SimStrand strand(clock);
  SimExecutor executor;
  syncer::SyncerOptions options;
  options.context = context;
  options.clock = &clock;
  options.random = &random;
  syncer::Syncer syncer(strand, executor, kube::Client(tenant), kube::Client(host), std::move(options));
  syncer.begin();
  bool serving = false;
  int steps = 0;
  const auto settle = [&] {
    while (true) {
      if (++steps > kStepsMax) std::abort();
      if (strand.has_work()) {
        strand.step();
      } else if (!serving && syncer.synced()) {
        serving = true;
        syncer.serve();
      } else if (!(serving && executor.step()) && !host->tell()) {
        return;
      }
    }
  };
  settle();
  for (int later = 0; later < 2; ++later) {  // what failed is tried again
    clock.advance(std::chrono::seconds(61));
    settle();
  }
  syncer.stop();
  return 0;
}
