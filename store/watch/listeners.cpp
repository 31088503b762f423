#include "store/watch/listeners.h"

#include <utility>

namespace sublet::store {

class Listeners::Ending final : public Subscription {
 public:
  explicit Ending(std::shared_ptr<Listener> listener) : listener_(std::move(listener)) {}
  ~Ending() override {
    std::shared_ptr<const std::function<void()>> ended;  // destroyed after the lock: it may hold anything
    const RecursiveLock lock(listener_->mutex);
    ended.swap(listener_->function);
  }

 private:
  std::shared_ptr<Listener> listener_;
};

std::unique_ptr<Subscription> Listeners::add(std::function<void()> committed) {
  auto listener = std::make_shared<Listener>(std::move(committed));
  const MutexLock lock(mutex_);
  std::erase_if(all_, [](const std::weak_ptr<Listener>& known) { return known.expired(); });
  all_.push_back(listener);
  return std::make_unique<Ending>(std::move(listener));
}

void Listeners::notify() {
  std::vector<std::shared_ptr<Listener>> now;
  {
    const MutexLock lock(mutex_);
    now.reserve(all_.size());
    for (const auto& known : all_)
      if (auto listener = known.lock()) now.push_back(std::move(listener));
  }
  for (const auto& listener : now) {
    std::shared_ptr<const std::function<void()>> function;  // it may end itself while it is being called
    const RecursiveLock lock(listener->mutex);
    function = listener->function;
    if (function) (*function)();
  }
}

}  // namespace sublet::store
