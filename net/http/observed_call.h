// ObservedCall: the tie between a running exchange and its observer, shared by every client transport.
//
// The transport delivers through it, on one thread; the Exchange handle cancels through it, on any thread. The lock is
// held while an observer runs, so that cancel() from another thread waits for it; it is recursive so that an observer
// may destroy its own Exchange.
#pragma once

#include <atomic>
#include <memory>
#include <string_view>
#include <utility>

#include "sublet/base/mutex.h"
#include "sublet/net/duplex.h"
#include "sublet/net/http.h"

namespace sublet::net {

class ObservedCall {
 public:
  explicit ObservedCall(std::shared_ptr<ResponseObserver> observer) : observer_(std::move(observer)) {}

  void head(int code, const Headers& headers) {
    deliver([&](ResponseObserver& observer) { observer.on_head(code, headers); });
  }
  void body(std::string_view chunk) {
    deliver([&](ResponseObserver& observer) { observer.on_body(chunk); });
  }
  /// The last delivery; later ones are dropped.
  void end(Outcome outcome) {
    std::shared_ptr<ResponseObserver> observer;
    const RecursiveLock lock(mutex_);
    observer.swap(observer_);
    over_ = true;
    if (observer) observer->on_end(std::move(outcome));
  }
  /// The last delivery as well, for an observer that has asked for it.
  void upgrade(const std::shared_ptr<Duplex>& connection) {
    std::shared_ptr<ResponseObserver> observer;
    const RecursiveLock lock(mutex_);
    observer.swap(observer_);
    over_ = true;
    if (auto* asker = dynamic_cast<UpgradeObserver*>(observer.get())) asker->on_upgrade(connection);
  }
  void cancel() {
    std::shared_ptr<ResponseObserver> observer;  // destroyed after the lock is given back
    const RecursiveLock lock(mutex_);
    observer.swap(observer_);
    over_ = true;
  }
  /// Ended or cancelled.
  bool over() const { return over_; }

 private:
  template <class F>
  void deliver(F&& call) {
    const RecursiveLock lock(mutex_);
    const auto observer = observer_;  // kept alive when the callback cancels
    if (observer) call(*observer);
  }

  RecursiveMutex mutex_;
  std::shared_ptr<ResponseObserver> observer_ SUBLET_GUARDED_BY(mutex_);
  std::atomic<bool> over_{false};
};

}  // namespace sublet::net
