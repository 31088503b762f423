#include "apiserver/endpoints/host_descriptions.h"

#include <chrono>
#include <utility>
#include <vector>

#include "sublet/base/mutex.h"

namespace sublet::apiserver {
namespace {

using namespace std::chrono_literals;

constexpr auto kFresh = 60s;  // a host's OpenAPI changes when it is upgraded
constexpr auto kAway = 10s;

}  // namespace

struct HostDescriptions::Impl {
  using Then = std::function<void(std::shared_ptr<const HostHashes>)>;
  Impl(HostOpenApi ask_, Clock& clock_) : ask(std::move(ask_)), clock(clock_) {}

  // The hashes that count for now; null: `then` waits for the answer, and the caller asks the host when no request is
  // under way.
  std::shared_ptr<const HostHashes> known_or_wait(Then& then, bool& ask_now) {
    const MutexLock lock(mutex);
    const auto now = clock.steady_now();
    if (stopped || now < asked_until || now < away_until) return hashes;
    ask_now = waiting.empty();
    waiting.push_back(std::move(then));
    return nullptr;
  }

  void on_hashes(const Result<std::string>& answer) {
    std::vector<Then> waited;
    std::shared_ptr<const HostHashes> said;
    {
      const MutexLock lock(mutex);
      if (answer) {
        hashes = std::make_shared<const HostHashes>(HostHashes::read(*answer));
        asked_until = clock.steady_now() + kFresh;
      } else {
        away_until = clock.steady_now() + kAway;
      }
      waited.swap(waiting);
      said = hashes;
    }
    for (const Then& then : waited) then(said);
  }

  bool is_away() {
    const MutexLock lock(mutex);
    return stopped || clock.steady_now() < away_until;
  }
  void note_away() {
    const MutexLock lock(mutex);
    away_until = clock.steady_now() + kAway;
  }

  const HostOpenApi ask;
  Clock& clock;
  Mutex mutex;
  bool stopped SUBLET_GUARDED_BY(mutex) = false;
  std::shared_ptr<const HostHashes> hashes SUBLET_GUARDED_BY(mutex) = std::make_shared<const HostHashes>();
  SteadyTime asked_until SUBLET_GUARDED_BY(mutex), away_until SUBLET_GUARDED_BY(mutex);
  std::vector<Then> waiting SUBLET_GUARDED_BY(mutex);  // for the one question that is on its way
};

HostDescriptions::HostDescriptions(HostOpenApi ask, Clock& clock)
    : impl_(std::make_shared<Impl>(std::move(ask), clock)) {}
HostDescriptions::~HostDescriptions() = default;

void HostDescriptions::with_hashes(std::function<void(std::shared_ptr<const HostHashes>)> then) {
  static const auto kNoDescriptions = std::make_shared<const HostHashes>();
  if (!impl_->ask) return then(kNoDescriptions);
  bool ask_now = false;
  if (const auto known = impl_->known_or_wait(then, ask_now)) return then(known);
  if (!ask_now) return;
  impl_->ask("", [weak = std::weak_ptr(impl_)](const Result<std::string>& answer) {
    if (const auto impl = weak.lock()) impl->on_hashes(answer);
  });
}

void HostDescriptions::with_document(const std::string& path,
                                     std::function<void(std::shared_ptr<const std::string>)> then) {
  if (!impl_->ask || impl_->is_away()) return then(nullptr);
  impl_->ask(path, [weak = std::weak_ptr(impl_), then = std::move(then)](Result<std::string> answer) {
    if (answer) return then(std::make_shared<const std::string>(std::move(*answer)));
    if (const auto impl = weak.lock()) impl->note_away();
    then(nullptr);
  });
}

void HostDescriptions::stop() {
  std::vector<Impl::Then> waiting;
  const MutexLock lock(impl_->mutex);
  impl_->stopped = true;
  waiting.swap(impl_->waiting);
}

}  // namespace sublet::apiserver
