#include "sublet/syncer/syncer.h"

#include <algorithm>
#include <mutex>
#include <vector>

#include "sublet/base/log.h"
#include "sublet/base/metrics.h"
#include "syncer/border.h"

namespace sublet::syncer {

using kube::Informer;

struct Syncer::Impl {
  Impl(Strand& informers, Executor& executor_, kube::Client tenant, kube::Client host, SyncerOptions options)
      : executor(executor_), border(informers, std::move(tenant), std::move(host), std::move(options)) {}

  std::vector<Informer*> copies() const { return border.copies(); }

  void reconcile(const std::string& text) {
    const KeyParts key = split_key(text);
    const bool past = key.kind.starts_with(kPast);
    const Sides* sides = border.sides_of_key(past ? key.kind.substr(kPast.size()) : key.kind);
    const Reconcile function = !sides ? nullptr : past ? sides->kind.reconcile_past : sides->kind.reconcile;
    if (function == nullptr || (sides->kind.watch_tenant && !sides->tenant)) return;
    ++border.reconciles;
    const auto result = function(border, *sides, std::string(key.namespace_name), std::string(key.name));
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
  }

  void work(const std::string& key) {
    static auto& duration = metrics::histogram("sublet_syncer_reconcile_seconds", "Time of one reconcile.");
    const SteadyTime started = border.clock.steady_now();
    reconcile(key);
    duration.observe(std::chrono::duration<double>(border.clock.steady_now() - started).count());
  }

  bool is_custom(const Informer& copy) const {
    return std::ranges::any_of(border.kinds, [&](const Sides& one) {
      return one.kind.custom && one.kind.only.empty() && (one.tenant.get() == &copy || one.host.get() == &copy);
    });
  }

  void begin() {
    for (Informer* copy : copies()) copy->start();
  }

  Outcome await_copies() {
    const auto deadline = Clock::system().steady_now() + border.options.sync_timeout;
    for (const Informer* copy : copies()) {
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

  // What others may name at once is there before anybody is told that the virtual cluster is.
  void serve() {
    for (const Sides& one : border.kinds) {
      if (!one.kind.before_others || !one.host) continue;
      for (const auto& object : one.host->list())
        reconcile(queue_key(one.kind.kind, object->namespace_name, object->name));
    }
    executor.start(border.queue, [this](const std::string& key) { work(key); });
  }

  void stop() {
    std::call_once(stopped, [this] {
      border.queue.shut_down();
      executor.stop();
      border.stop_informers();
    });
  }

  void resync() {
    for (const Sides& one : border.kinds)
      if (one.kind.resync && (one.tenant || one.host)) one.kind.resync(border, one);
  }

  Executor& executor;
  Border border;
  std::once_flag stopped;
};

Syncer::Syncer(Strand& informers, Executor& executor, kube::Client tenant, kube::Client host, SyncerOptions options)
    : impl_(std::make_unique<Impl>(informers, executor, std::move(tenant), std::move(host), std::move(options))) {}

Syncer::~Syncer() { stop(); }

Outcome Syncer::start() {
  impl_->begin();
  if (auto there = impl_->await_copies(); !there) return there;
  impl_->serve();
  return {};
}

void Syncer::begin() { impl_->begin(); }

bool Syncer::synced() const {
  for (const Informer* copy : impl_->copies())
    if (!impl_->is_custom(*copy) && !copy->synced()) return false;
  return true;
}

void Syncer::serve() { impl_->serve(); }

void Syncer::stop() { impl_->stop(); }

bool Syncer::idle(std::chrono::milliseconds ahead) const { return impl_->border.queue.idle(ahead); }

Result<bool> Syncer::caught_up() const {
  for (const Informer* copy : impl_->copies()) {
    auto same = copy->up_to_date();
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
