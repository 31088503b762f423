#include "syncer/health_monitor.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

#include "sublet/base/descriptor.h"
#include "sublet/base/files.h"
#include "sublet/base/log.h"

namespace sublet::syncer {
namespace {

constexpr std::chrono::milliseconds kProbeTimeout = 2 * kHealthInterval;

/// Drops the answer: the client's report says all that matters.
class IgnoringObserver final : public net::ResponseObserver {
 public:
  void on_head(int, const net::Headers&) override {}
  void on_body(std::string_view) override {}
  void on_end(Outcome) override {}
};

/// Replaces the file without a sync: after a power cut the record is stale anyway.
bool replace_record(const std::string& path, const std::string& text) {
  const std::string next = path + ".next";
  const Descriptor file(::open(next.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  return file.get() >= 0 && write_all(file.get(), text) && ::rename(next.c_str(), path.c_str()) == 0;
}

}  // namespace

struct HealthMonitor::Impl : std::enable_shared_from_this<Impl> {
  Impl(Strand& s, Border& b, Options o) : strand(s), border(b), options(std::move(o)) {}

  void schedule() SUBLET_REQUIRES(mutex) {
    timer = strand.after(kHealthInterval, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->turn();
    });
  }

  void turn() {
    const MutexLock lock(mutex);
    if (stopped) return;
    probe();
    write();
    schedule();
  }

  void probe() SUBLET_REQUIRES(mutex) {
    const SteadyTime now = border.clock.steady_now();
    const auto answered = border.host.contact.answered_at();
    if (answered && now - *answered < kHealthInterval) return void(probing.reset());
    // The probe itself may have been answered, just not within the last interval.
    if (probing && (!answered || *answered < probed_at)) {
      const auto quiet = answered ? now - *answered : SteadyTime::duration(kHealthInterval);
      border.host.contact.add_silence(
          "no answer for " + std::to_string(std::chrono::duration_cast<std::chrono::seconds>(quiet).count()) + " s");
      if (now - probed_at < kProbeTimeout) return;
    }
    kube::ListOptions one;
    one.limit = 1;
    probed_at = now;
    probing = border.host.client.transport().start(border.host.client.list_request(kPods, border.host_namespace(), one),
                                                   std::make_shared<IgnoringObserver>(), kProbeTimeout);
  }

  void write() SUBLET_REQUIRES(mutex) {
    Health health = options.look();
    judge(health);
    health.at = border.clock.now();
    health.pid = ::getpid();
    if (since == WallTime() || health.state != state) {
      if (since != WallTime() || health.state != HealthState::starting)
        log::info("syncer.health", {{"state", to_text(health.state)}, {"cause", health.message}});
      state = health.state;
      since = health.at;
    }
    health.since = since;
    const bool written = replace_record(options.path, to_json(health));
    if (!written && !std::exchange(failing, true)) log::warning("syncer.health_not_written", {{"path", options.path}});
    if (written) failing = false;
    options.on_health(health);
  }

  Strand& strand;
  Border& border;
  const Options options;
  Mutex mutex;
  bool stopped SUBLET_GUARDED_BY(mutex) = false, failing SUBLET_GUARDED_BY(mutex) = false;
  Strand::TimerId timer SUBLET_GUARDED_BY(mutex) = 0;
  std::unique_ptr<net::Exchange> probing SUBLET_GUARDED_BY(mutex);
  SteadyTime probed_at SUBLET_GUARDED_BY(mutex);
  HealthState state SUBLET_GUARDED_BY(mutex) = HealthState::starting;
  WallTime since SUBLET_GUARDED_BY(mutex);
};

HealthMonitor::HealthMonitor(Strand& strand, Border& border, Options options)
    : impl_(std::make_shared<Impl>(strand, border, std::move(options))) {}

HealthMonitor::~HealthMonitor() {
  std::unique_ptr<net::Exchange> probing;
  {
    const MutexLock lock(impl_->mutex);
    impl_->stopped = true;
    impl_->strand.cancel(impl_->timer);
    probing = std::move(impl_->probing);
  }
}

void HealthMonitor::start() {
  impl_->strand.post([weak = impl_->weak_from_this()] {
    if (const auto self = weak.lock()) self->turn();
  });
}

}  // namespace sublet::syncer
