#include "sublet/syncer/syncer.h"

#include <array>
#include <mutex>
#include <thread>
#include <vector>

#include "sublet/base/log.h"
#include "sublet/base/metrics.h"
#include "sublet/kube/json_scan.h"
#include "syncer/border.h"

namespace sublet::syncer {
namespace {

using kube::CachedObject;
using kube::CachedPtr;
using kube::Informer;
using schema::Document;
using schema::Value;

// Where to add a synced kind: its reconciler here, its informers and handlers in watch_*().
struct ReconcilerRow {
  std::string_view kind;
  Reconcile reconcile;
};
constexpr std::array<ReconcilerRow, 9> kReconcilers{{
    {"Pod", reconcile_pod},
    {"PodToken", reconcile_token},
    {"ConfigMap", reconcile_config_map},
    {"Secret", reconcile_secret},
    {"Service", reconcile_service},
    {"Node", reconcile_node},
    {"RuntimeClass", reconcile_runtime_class},
    {"Event", reconcile_event},
    {"PastEvent", reconcile_past_event},
}};

struct Key {
  std::string kind, namespace_name, name;
};

Key split_key(const std::string& key) {
  const auto first = key.find('/');
  const auto second = key.find('/', first + 1);
  return {key.substr(0, first), key.substr(first + 1, second - first - 1), key.substr(second + 1)};
}

// A worker waits most of its time for a server. These few are always there; others come one by one while that many keys
// are in line for each, so that a syncer that never meets a burst pays for none of them.
constexpr std::size_t kWorkersAtRest = 8;
constexpr std::size_t kKeysPerWorker = 8;

constexpr std::size_t kOwnersMax = 8192;  // host pods remembered for their late events

}  // namespace

struct Syncer::Impl {
  Impl(net::Loop& loop_, kube::Client tenant, kube::Client host, SyncerOptions options)
      : loop(loop_), border(std::move(tenant), std::move(host), std::move(options)) {
    make_informers();
    watch_tenant();
    watch_host();
  }

  std::unique_ptr<Informer> informer(const kube::Client& client, const kube::Resource& resource,
                                     std::string namespace_name = {}, std::string label_selector = {}) {
    kube::InformerOptions options;
    options.resource = resource;
    options.namespace_name = std::move(namespace_name);
    options.label_selector = std::move(label_selector);
    return std::make_unique<Informer>(loop, client, std::move(options));
  }

  void make_informers() {
    const std::string& ns = border.host_namespace();
    const std::string ours = std::string(kLabelTenantUid) + "=" + border.context().virtual_cluster_uid;
    border.tenant_pods = informer(border.tenant, kPods);
    border.tenant_config_maps = informer(border.tenant, kConfigMaps);
    border.tenant_secrets = informer(border.tenant, kSecrets);
    border.tenant_services = informer(border.tenant, kServices);
    border.tenant_nodes = informer(border.tenant, kNodes);
    border.tenant_runtime_classes = informer(border.tenant, kRuntimeClasses);
    border.host_pods = informer(border.host, kPods, ns, ours);
    border.host_config_maps = informer(border.host, kConfigMaps, ns, ours);
    border.host_secrets = informer(border.host, kSecrets, ns, ours);
    border.host_services = informer(border.host, kServices, ns, ours);
    border.host_nodes = informer(border.host, kNodes);
    border.host_runtime_classes = informer(border.host, kRuntimeClasses);
    border.host_events = informer(border.host, kEvents, ns);
  }

  std::array<Informer*, 13> informers() {
    return {border.tenant_pods.get(),     border.tenant_config_maps.get(), border.tenant_secrets.get(),
            border.tenant_services.get(), border.tenant_nodes.get(),       border.tenant_runtime_classes.get(),
            border.host_pods.get(),       border.host_config_maps.get(),   border.host_secrets.get(),
            border.host_services.get(),   border.host_nodes.get(),         border.host_runtime_classes.get(),
            border.host_events.get()};
  }

  void enqueue(std::string_view kind, const CachedObject& object) {
    border.queue.add(queue_key(kind, object.namespace_name, object.name));
  }

  void watch_by_name(Informer& informer, std::string_view kind) {
    informer.add_handler(
        [this, kind](const CachedPtr& before, const CachedPtr& after) { enqueue(kind, after ? *after : *before); });
  }

  void watch_tenant() {
    border.tenant_pods->add_index(kUsesIndex, [this](const CachedObject& pod) { return border.uses.keys_in_use(pod); });
    border.tenant_services->add_index(
        "namespace", [](const CachedObject& service) { return std::vector<std::string>{service.namespace_name}; });
    border.tenant_pods->add_handler([this](const CachedPtr& before, const CachedPtr& after) {
      enqueue("Pod", after ? *after : *before);
      if (after) return;
      // The last user may be gone.
      for (const auto& key : border.uses.of(*before)->keys) border.queue.add(key);
      border.uses.forget(*before);
      border.settled_pods.forget(before->uid);
    });
    watch_by_name(*border.tenant_services, "Service");
    watch_by_name(*border.tenant_nodes, "Node");
    watch_by_name(*border.tenant_runtime_classes, "RuntimeClass");
    watch_used(*border.tenant_config_maps, "ConfigMap");
    watch_used(*border.tenant_secrets, "Secret");
  }

  // Only what pods use crosses; a tenant's other ConfigMaps and Secrets cost nothing here.
  void watch_used(Informer& informer, std::string_view kind) {
    informer.add_handler([this, kind](const CachedPtr& before, const CachedPtr& after) {
      const CachedObject& object = after ? *after : *before;
      const std::string key = queue_key(kind, object.namespace_name, object.name);
      if (!after || !border.tenant_pods->synced() || !border.tenant_pods->by_index(kUsesIndex, key).empty())
        border.queue.add(key);
    });
  }

  // Host objects name the tenant object that they stand for.
  void watch_by_identity(Informer& informer, std::string_view kind) {
    informer.add_handler([this, kind](const CachedPtr& before, const CachedPtr& after) {
      const CachedObject& object = after ? *after : *before;
      const TenantIdentity owner = tenant_identity(object);
      if (owner.name.empty()) return;
      const std::string said = object.text({"metadata", "annotations", kAnnotationTenantKind});
      border.queue.add(queue_key(said.empty() ? kind : said, owner.namespace_name, owner.name));
    });
  }

  void watch_host() {
    border.host_pods->add_handler([this](const CachedPtr& before, const CachedPtr& after) {
      const CachedObject& pod = after ? *after : *before;
      const TenantIdentity owner = tenant_identity(pod);
      remember_owner(pod.name, owner);
      if (!owner.name.empty()) border.queue.add(queue_key("Pod", owner.namespace_name, owner.name));
    });
    watch_by_identity(*border.host_config_maps, "ConfigMap");
    watch_by_identity(*border.host_secrets, "Secret");
    watch_by_identity(*border.host_services, "Service");
    watch_by_name(*border.host_nodes, "Node");
    watch_by_name(*border.host_runtime_classes, "RuntimeClass");
    // An event may come before the pod that it is about, for they come on two watches: it is looked at again then.
    border.host_events->add_index("about", [](const CachedObject& event) {
      const auto about = kube::json_member(event.json, "involvedObject");
      return std::vector<std::string>{kube::json_unquote(kube::json_member(about.value_or("{}"), "name").value_or(""))};
    });
    border.host_pods->add_handler([this](const CachedPtr& before, const CachedPtr& after) {
      if (before) return;
      for (const auto& event : border.host_events->by_index("about", after->name)) enqueue("Event", *event);
    });
    border.host_events->add_handler([this](const CachedPtr& before, const CachedPtr& after) {
      if (!after || (before && before->resource_version == after->resource_version)) return;
      enqueue(border.host_events->synced() ? "Event" : "PastEvent", *after);
    });
  }

  void remember_owner(const std::string& host_pod, const TenantIdentity& owner) {
    const std::lock_guard lock(border.owners_mutex);
    if (border.host_pod_owners.size() >= kOwnersMax) border.host_pod_owners.clear();
    border.host_pod_owners[host_pod] = owner;
  }

  void reconcile_one(const std::string& text) {
    const Key key = split_key(text);
    for (const ReconcilerRow& row : kReconcilers) {
      if (row.kind != key.kind) continue;
      ++border.reconciles;
      const auto result = row.reconcile(border, key.namespace_name, key.name);
      if (!result) {
        ++border.failures;
        log::warning("syncer.retry", {{"key", text}, {"cause", result.error().message}});
        if (result.error().retry_after_seconds > 0)
          border.queue.add_after(text, std::chrono::seconds(result.error().retry_after_seconds));
        else
          border.queue.retry(text);
        return;
      }
      border.queue.forget(text);
      if (*result) border.queue.add_after(text, **result);
      return;
    }
  }

  void work() {
    static auto& duration = metrics::histogram("sublet_syncer_reconcile_seconds", "Time of one reconcile.");
    while (auto key = border.queue.get()) {
      hire();
      const auto started = std::chrono::steady_clock::now();
      reconcile_one(*key);
      border.queue.done(*key);
      duration.observe(std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count());
    }
  }

  void hire() {
    const std::size_t in_line = border.queue.depth();
    const std::lock_guard lock(workers_mutex);
    const std::size_t there = workers.size();
    const bool wanted = there < kWorkersAtRest || in_line > there * kKeysPerWorker;
    if (hiring && wanted && there < static_cast<std::size_t>(border.options.workers))
      workers.emplace_back([this] { work(); });
  }

  Outcome start() {
    for (Informer* one : informers()) one->start();
    const auto deadline = std::chrono::steady_clock::now() + border.options.sync_timeout;
    for (Informer* one : informers()) {
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
      if (one->wait_synced(std::max(left, std::chrono::milliseconds(1)))) continue;
      return fail(Reason::service_unavailable,
                  "the syncer could not list " + one->options().resource.resource +
                      (one->options().namespace_name.empty() ? std::string()
                                                             : " in host namespace " + one->options().namespace_name) +
                      "; is that API server up and are the credentials valid?");
    }
    // A tenant's first pods may name them: they are there before anybody is told that the virtual cluster is.
    for (const auto& runtime_class : border.host_runtime_classes->list())
      reconcile_one(queue_key("RuntimeClass", "", runtime_class->name));
    for (std::size_t i = 0; i < kWorkersAtRest; ++i) hire();
    return {};
  }

  void stop() {
    border.queue.shut_down();
    std::vector<std::thread> leaving;
    {
      const std::lock_guard lock(workers_mutex);
      hiring = false;
      leaving.swap(workers);
    }
    for (auto& worker : leaving) worker.join();
    // Handlers of the others look at the tenant's pods: that cache goes last.
    for (auto* member : {&border.tenant_config_maps, &border.tenant_secrets, &border.tenant_services,
                         &border.tenant_nodes, &border.tenant_runtime_classes, &border.host_pods,
                         &border.host_config_maps, &border.host_secrets, &border.host_services, &border.host_nodes,
                         &border.host_runtime_classes, &border.host_events, &border.tenant_pods})
      member->reset();
  }

  void resync() {
    for (const auto& pod : border.tenant_pods->list()) {
      enqueue("Pod", *pod);
      for (const auto& key : border.uses.of(*pod)->keys) border.queue.add(key);
    }
    for (const auto& service : border.tenant_services->list()) enqueue("Service", *service);
    for (const auto& node : border.host_nodes->list()) enqueue("Node", *node);
    for (const auto& runtime_class : border.host_runtime_classes->list()) enqueue("RuntimeClass", *runtime_class);
  }

  net::Loop& loop;
  Border border;
  std::mutex workers_mutex;
  std::vector<std::thread> workers;  // guarded by workers_mutex
  bool hiring = true;                // guarded by workers_mutex
  bool running = true;
};

Syncer::Syncer(net::Loop& loop, kube::Client tenant, kube::Client host, SyncerOptions options)
    : impl_(std::make_unique<Impl>(loop, std::move(tenant), std::move(host), std::move(options))) {}

Syncer::~Syncer() { stop(); }

Outcome Syncer::start() { return impl_->start(); }

void Syncer::stop() {
  if (!impl_->running) return;
  impl_->running = false;
  impl_->stop();
}

bool Syncer::idle(std::chrono::milliseconds ahead) const { return impl_->border.queue.idle(ahead); }

Result<bool> Syncer::caught_up() const {
  for (const Informer* one : impl_->informers()) {
    auto same = one->up_to_date();
    if (!same || !*same) return same;
  }
  return true;
}

void Syncer::resync() { impl_->resync(); }

SyncerStats Syncer::stats() const {
  const Border& border = impl_->border;
  return {border.host_writes, border.tenant_writes, border.reconciles,   border.failures,
          border.denied,      border.foreign,       border.queue.depth()};
}

}  // namespace sublet::syncer
