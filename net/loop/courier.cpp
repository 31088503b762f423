#include "sublet/net/courier.h"

namespace sublet::net {

bool Courier::post(std::function<void()> task) {
  MutexLock lock(mutex_);
  if (!loop_) return false;
  loop_->post(std::move(task));
  return true;
}

Loop::TimerId Courier::after(std::chrono::milliseconds delay, std::function<void()> task) {
  MutexLock lock(mutex_);
  return loop_ ? loop_->after(delay, std::move(task)) : 0;
}

void Courier::cancel(Loop::TimerId id) {
  MutexLock lock(mutex_);
  if (loop_ && id != 0) loop_->cancel(id);
}

bool Courier::in_loop_thread() const {
  MutexLock lock(mutex_);
  return loop_ && loop_->in_loop_thread();
}

void Courier::close() {
  MutexLock lock(mutex_);
  loop_ = nullptr;
}

}  // namespace sublet::net
