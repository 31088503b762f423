#include "store/rows/row_pipe.h"

#include <utility>

namespace sublet::store {
namespace {

constexpr std::size_t kFullBatchesMax = 4;  // read ahead of who visits them

}  // namespace

RowPipe::RowPipe(const Visit& visit) : visit_(visit), filling_(std::make_unique<Batch>()) {}

RowPipe::~RowPipe() {
  {
    const MutexLock lock(mutex_);
    full_.clear();
  }
  end();
}

Outcome RowPipe::visit_all(Batch& batch) const {
  for (std::size_t i = 0; i < batch.used; ++i)
    if (Outcome visited = visit_(std::move(batch.rows[i])); !visited) return visited;
  batch.used = 0;
  return {};
}

bool RowPipe::put() { return ++filling_->used < kBatchRows || hand_over(); }

bool RowPipe::hand_over() {
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  MutexLock lock(mutex_);
  changed_.wait(lock, [this]() SUBLET_REQUIRES(mutex_) { return full_.size() < kFullBatchesMax || failure_; });
  if (failure_) return false;
  full_.push_back(std::move(filling_));
  changed_.notify_all();
  if (empty_.empty()) {
    filling_ = std::make_unique<Batch>();
  } else {
    filling_ = std::move(empty_.back());
    empty_.pop_back();
  }
  return true;
}

Outcome RowPipe::finish() {
  if (!thread_.joinable()) return visit_all(*filling_);
  hand_over();
  end();
  const MutexLock lock(mutex_);
  return failure_ ? Outcome(fail(*failure_)) : Outcome();
}

void RowPipe::end() {
  {
    const MutexLock lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void RowPipe::run() {
  MutexLock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this]() SUBLET_REQUIRES(mutex_) { return !full_.empty() || ended_; });
    if (full_.empty()) return;
    BatchPtr batch = std::move(full_.front());
    full_.pop_front();
    lock.unlock();
    Outcome visited = visit_all(*batch);
    lock.lock();
    if (visited)
      empty_.push_back(std::move(batch));
    else
      failure_ = std::move(visited.error());
    changed_.notify_all();
    if (failure_) return;
  }
}

}  // namespace sublet::store
