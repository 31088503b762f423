#include "sublet/syncer/syncer.h"

#include <algorithm>
#include <mutex>
#include <unordered_set>
#include <utility>
#include <vector>

#include "sublet/base/log.h"
#include "sublet/base/metrics.h"
#include "sublet/base/mutex.h"
#include "sublet/syncer/host_audit.h"
#include "sublet/syncer/node_names.h"
#include "syncer/border/border.h"
#include "syncer/border/retry_log.h"
#include "syncer/health_monitor.h"

namespace sublet::syncer {

using kube::Informer;

namespace {

// A key of its own on the queue: tells the tenant's pending pods what is wrong with the host. No kind has such keys.
const std::string kReportToPending = "~pending//";

}  // namespace

struct Syncer::Impl {
  Impl(Strand& strand, Executor& executor_, kube::Client tenant, kube::Client host, SyncerOptions options)
      : executor(executor_), border(strand, std::move(tenant), std::move(host), std::move(options)) {
    if (border.options.health_path.empty()) return;
    health_monitor.emplace(strand, border,
                           HealthMonitor::Options{.path = border.options.health_path,
                                                  .look = [this] { return health(); },
                                                  .on_health = [this](const Health& now) { take_health(now); }});
  }

  std::vector<Informer*> informers() const { return border.informers(); }

  void reconcile(const std::string& text) {
    const KeyParts key = split_key(text);
    const bool past = key.kind.starts_with(kPast);
    const KindSides* sides = border.sides_of_key(past ? key.kind.substr(kPast.size()) : key.kind);
    const Reconcile function = !sides ? nullptr : past ? sides->kind.reconcile_past : sides->kind.reconcile;
    if (function == nullptr) return;
    // A key without a name asks about the kind itself (look_for_groups()).
    if (sides->kind.watch_tenant && !sides->tenant && !key.name.empty()) return;
    ++border.counters.reconciles;
    const kube::Resource& resource = sides->kind.resource;
    const CauseScope cause({cause_key(resource.group, resource.resource, key.namespace_name, key.name)});
    const auto result = function(border, *sides, std::string(key.namespace_name), std::string(key.name));
    if (!result) {
      ++border.counters.failures;
      if (const auto times = retries.add(text, result.error().message))
        log::warning("syncer.retry", {{"key", text}, {"cause", result.error().message}, {"times", *times}});
      if (result.error().retry_after_seconds > 0)
        border.queue.add_after(text, std::chrono::seconds(result.error().retry_after_seconds));
      else if (is_unanswered(result.error()) && border.host.outage.silent())
        return border.host.outage.add_unanswered(text);
      else
        border.queue.retry(text);
    } else {
      border.queue.forget(text);
      retries.forget(text);
      if (*result) border.queue.add_after(text, **result);
    }
    border.host.outage.note_progress();
  }

  void work(const std::string& key) {
    if (key == kReportToPending) return report_to_pending_pods();
    if (!border.host.outage.may_work(key)) return report_to_waiting_pods();
    static auto& duration = metrics::histogram("sublet_syncer_reconcile_seconds", "Time of one reconcile.");
    const SteadyTime started = border.clock.steady_now();
    reconcile(key);
    duration.observe(std::chrono::duration<double>(border.clock.steady_now() - started).count());
  }

  void report_to_waiting_pods() {
    for (const std::string& text : border.host.outage.take_due_reports()) {
      const KeyParts key = split_key(text);
      const KindSides* sides = border.sides_of_key(key.kind);
      if (sides && sides->kind.reconcile == reconcile_pod)
        report_to_pending_pod(border, *sides, std::string(key.namespace_name), std::string(key.name),
                              HostTrouble::silent);
    }
  }

  // While the host is of no use, each pod that waits for it gets one event.
  void take_health(const Health& now) {
    const MutexLock lock(reported_mutex);
    host_state = now.state;
    if (now.state == HealthState::host_silent || now.state == HealthState::host_refuses)
      border.queue.add(kReportToPending);
    else
      reported.clear();
  }

  void report_to_pending_pods() {
    const KindSides& pods = border.sides("Pod");
    for (const kube::CachedPtr& pod : pods.tenant->list()) {
      HostTrouble trouble = HostTrouble::silent;
      {
        const MutexLock lock(reported_mutex);
        if (host_state == HealthState::host_refuses)
          trouble = HostTrouble::refuses;
        else if (host_state != HealthState::host_silent)
          return;
        if (reported.contains(pod->uid)) continue;
      }
      if (!report_to_pending_pod(border, pods, pod->namespace_name, pod->name, trouble)) continue;
      const MutexLock lock(reported_mutex);
      reported.insert(pod->uid);
    }
  }

  Health health() const {
    Health now;
    now.tenant = border.tenant.contact.health();
    now.host = border.host.contact.health();
    for (const KindSides& one : border.kinds())
      for (const auto& [side, informer] : {std::pair("tenant", one.tenant.get()), std::pair("host", one.host.get())}) {
        if (!informer || is_custom(*informer)) continue;
        kube::InformerActivity activity = informer->activity();
        now.kinds.push_back(
            {std::string(one.kind.kind), side, activity.listed, activity.watched, std::move(activity.failure)});
      }
    now.waiting = border.host.outage.waiting();
    now.backlog = border.queue.depth() + now.waiting;
    now.denied = border.counters.denied;
    now.failures = border.counters.failures;
    return now;
  }

  static bool is_unanswered(const Status& status) {
    return status.http_code() >= 502;  // 503 and 504 are also the transport's own words
  }

  bool is_custom(const Informer& copy) const {
    return std::ranges::any_of(border.kinds(), [&](const KindSides& one) {
      return one.kind.custom && (one.kind.only.empty() || one.kind.mapping) &&
             (one.tenant.get() == &copy || one.host.get() == &copy);
    });
  }

  void begin() {
    if (health_monitor) health_monitor->start();
    for (Informer* copy : informers()) copy->start();
  }

  Outcome await_informers() {
    const auto deadline = Clock::system().steady_now() + border.options.sync_timeout;
    for (const Informer* copy : informers()) {
      if (is_custom(*copy)) continue;  // the tenant has its definition only once the syncer is at work
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::system().steady_now());
      if (copy->wait_synced(std::max(left, std::chrono::milliseconds(1)))) continue;
      const kube::InformerOptions& options = copy->options();
      return fail(Reason::service_unavailable,
                  "the syncer could not list " + options.resource.resource +
                      (options.namespace_name.empty() ? "" : " in host namespace " + options.namespace_name) +
                      "; is that API server up and are the credentials valid?");
    }
    return {};
  }

  // What tenants may name from the start exists before the virtual cluster counts as started.
  void serve() {
    for (const std::string& key : always_there()) reconcile(key);
    for (const KindSides& one : border.kinds()) {
      if (!one.kind.before_others || !one.host) continue;
      for (const auto& object : one.host->list())
        reconcile(queue_key(one.kind.kind, object->namespace_name, object->name));
    }
    look_for_groups(border);
    executor.start(border.queue, [this](const std::string& key) { work(key); });
  }

  std::vector<std::string> always_there() const {
    std::vector<std::string> keys;
    for (const KindSides& one : border.kinds())
      if (const auto& [namespace_name, name] = one.kind.always; !name.empty())
        keys.push_back(queue_key(one.kind.kind, namespace_name, name));
    return keys;
  }

  void stop() {
    std::call_once(stopped, [this] {
      health_monitor.reset();
      border.queue.shut_down();
      executor.stop();
      border.stop_informers();
    });
  }

  void resync() {
    for (const std::string& key : always_there()) border.queue.add(key);
    for (const KindSides& one : border.kinds())
      if (one.kind.resync && (one.tenant || one.host)) one.kind.resync(border, one);
  }

  Executor& executor;
  Border border;
  RetryLog retries;
  std::once_flag stopped;
  Mutex reported_mutex;
  HealthState host_state SUBLET_GUARDED_BY(reported_mutex) = HealthState::starting;
  std::unordered_set<std::string> reported
      SUBLET_GUARDED_BY(reported_mutex);        // uids of pending pods that have the event
  std::optional<HealthMonitor> health_monitor;  // destroyed first: it calls into all of the above
};

Syncer::Syncer(Strand& informers, Executor& executor, kube::Client tenant, kube::Client host, SyncerOptions options)
    : impl_(std::make_unique<Impl>(informers, executor, std::move(tenant), std::move(host), std::move(options))) {}

Syncer::~Syncer() { stop(); }

Outcome Syncer::start() {
  impl_->begin();
  if (auto there = impl_->await_informers(); !there) return there;
  impl_->serve();
  return {};
}

void Syncer::begin() { impl_->begin(); }

bool Syncer::synced() const {
  for (const Informer* copy : impl_->informers())
    if (!impl_->is_custom(*copy) && !copy->synced()) return false;
  return true;
}

void Syncer::serve() { impl_->serve(); }

void Syncer::stop() { impl_->stop(); }

bool Syncer::idle(std::chrono::milliseconds ahead) const {
  return impl_->border.queue.idle(ahead) && impl_->border.host.outage.waiting() == 0;
}

Result<bool> Syncer::caught_up() const {
  for (const Informer* copy : impl_->informers()) {
    auto same = copy->up_to_date();
    if (!same || !*same) return same;
  }
  return true;
}

void Syncer::resync() { impl_->resync(); }

SyncerStats Syncer::stats() const {
  const Border& border = impl_->border;
  return {border.host.writes,
          border.tenant.writes,
          border.counters.reconciles,
          border.counters.failures,
          border.counters.denied,
          border.host.foreign_objects,
          border.queue.depth() + border.host.outage.waiting()};
}

Health Syncer::health() const { return impl_->health(); }

namespace {

schema::Document part_of(const kube::CachedObject& object, std::initializer_list<std::string_view> path) {
  auto part = schema::Document::parse_json(object.raw(path));
  return part ? std::move(*part) : schema::Document::object();
}

}  // namespace

std::optional<MeasuredPod> Syncer::measured_pod(const std::string& host_pod) const {
  const Border& border = impl_->border;
  const auto on_host = border.host_pods().get(border.host_namespace(), host_pod);
  if (!on_host || on_host->text({"metadata", "labels", kLabelTenantUid}) != border.context().virtual_cluster_uid)
    return std::nullopt;
  const TenantIdentity owner = tenant_identity(*on_host);
  const auto pod = border.tenant_pods().get(owner.namespace_name, owner.name);
  if (!pod || pod->uid != owner.uid) return std::nullopt;
  MeasuredPod measured{pod->namespace_name, pod->name, part_of(*pod, {"metadata", "labels"}), {}};
  for (const char* list : {"containers", "initContainers", "ephemeralContainers"}) {
    const schema::Document containers = part_of(*pod, {"spec", list});
    for (const schema::Value container : containers.root()) measured.containers.push_back(container["name"].string());
  }
  return measured;
}

std::optional<MeasuredNode> Syncer::measured_node(const std::string& host_node) const {
  const KindSides& nodes = impl_->border.sides("Node");
  if (!is_wanted(nodes.kind, impl_->border.context()) || !nodes.host || !nodes.tenant) return std::nullopt;
  const std::string name = impl_->border.nodes().to_tenant(host_node);
  const auto shown = nodes.tenant->get("", name);
  if (!shown || !nodes.host->get("", host_node)) return std::nullopt;
  return MeasuredNode{name, part_of(*shown, {"metadata", "labels"})};
}

}  // namespace sublet::syncer
