#include "net/server_core.h"

namespace sublet::net {

void ServerCore::add(std::shared_ptr<ServerConnection> connection) {
  connections_.insert(std::move(connection));
  count_ = connections_.size();
}

void ServerCore::remove(const std::shared_ptr<ServerConnection>& connection) {
  connections_.erase(connection);
  count_ = connections_.size();
  if (!connections_.empty()) return;
  std::lock_guard lock(mutex_);
  emptied_.notify_all();
}

void ServerCore::finish_all() {
  const std::vector<std::shared_ptr<ServerConnection>> all(connections_.begin(), connections_.end());
  for (const auto& connection : all) connection->finish();
}

void ServerCore::close_all() {
  const std::vector<std::shared_ptr<ServerConnection>> all(connections_.begin(), connections_.end());
  for (const auto& connection : all) connection->close();
}

void ServerCore::wants_flush(std::shared_ptr<ServerConnection> connection) {
  {
    std::lock_guard lock(mutex_);
    ready_.push_back(std::move(connection));
    if (ready_.size() > 1) return;  // the task is on its way
  }
  if (!courier->post([self = shared_from_this()] { self->flush_ready(); })) drop_ready();
}

void ServerCore::drop_ready() {
  std::vector<std::shared_ptr<ServerConnection>> ready;  // destroyed after the lock is given back
  std::lock_guard lock(mutex_);
  ready.swap(ready_);
}

void ServerCore::flush_ready() {
  std::vector<std::shared_ptr<ServerConnection>> ready;
  {
    std::lock_guard lock(mutex_);
    ready.swap(ready_);
  }
  for (const auto& connection : ready) connection->flush_answers();
}

void ServerCore::forget_loop() {
  courier->close();
  drop_ready();
}

bool ServerCore::wait_until_empty(std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  return emptied_.wait_for(lock, limit, [this] { return count_ == 0; });
}

}  // namespace sublet::net
