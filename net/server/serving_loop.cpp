
#include "net/server/serving_loop.h"

namespace sublet::net {

void ServingLoop::add(std::shared_ptr<ServerConnection> connection) {
  connections_.insert(std::move(connection));
  count_ = connections_.size();
}

void ServingLoop::remove(const std::shared_ptr<ServerConnection>& connection) {
  connections_.erase(connection);
  count_ = connections_.size();
  if (!connections_.empty()) return;
  const MutexLock lock(mutex_);
  emptied_.notify_all();
}

void ServingLoop::finish_all() {
  const std::vector<std::shared_ptr<ServerConnection>> all(connections_.begin(), connections_.end());
  for (const auto& connection : all) connection->finish();
}

void ServingLoop::close_all() {
  const std::vector<std::shared_ptr<ServerConnection>> all(connections_.begin(), connections_.end());
  for (const auto& connection : all) connection->close();
}

void ServingLoop::close_peers(const std::function<bool(const PeerIdentity&)>& meant) {
  std::vector<std::shared_ptr<ServerConnection>> all;
  for (const auto& connection : connections_)
    if (const PeerIdentity* peer = connection->peer(); peer && meant(*peer)) all.push_back(connection);
  for (const auto& connection : all) connection->close();
}

void ServingLoop::wants_flush(std::shared_ptr<ServerConnection> connection) {
  {
    const MutexLock lock(mutex_);
    ready_.push_back(std::move(connection));
    if (ready_.size() > 1) return;  // the task is on its way
  }
  if (!courier->post([self = shared_from_this()] { self->flush_ready(); })) drop_ready();
}

void ServingLoop::drop_ready() {
  std::vector<std::shared_ptr<ServerConnection>> ready;  // destroyed after the lock is given back
  const MutexLock lock(mutex_);
  ready.swap(ready_);
}

void ServingLoop::flush_ready() {
  std::vector<std::shared_ptr<ServerConnection>> ready;
  {
    const MutexLock lock(mutex_);
    ready.swap(ready_);
  }
  for (const auto& connection : ready) connection->flush_answers();
}

void ServingLoop::forget_loop() {
  courier->close();
  drop_ready();
}

bool ServingLoop::wait_until_empty(std::chrono::milliseconds limit) {
  MutexLock lock(mutex_);
  return emptied_.wait_for(lock, limit, [this]() SUBLET_REQUIRES(mutex_) { return count_ == 0; });
}

}  // namespace sublet::net
