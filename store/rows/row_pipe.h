// RowPipe: rows that one thread reads and another visits, in order: a large store opens in the time of the slower of
// both.
//
// With few rows the reading thread visits them itself. Lifecycle: fill next(), put() it, and so on; then finish(),
// which returns when all were visited. After a visit that failed none comes any more. A pipe that is destroyed without
// finish() drops what was not visited. Threads: one reads; visits come one at a time, on that thread or on the pipe's
// own.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "sublet/base/mutex.h"
#include "sublet/base/status.h"
#include "sublet/store/log.h"

namespace sublet::store {

class RowPipe {
 public:
  using Visit = std::function<Outcome(Row&&)>;
  /// How many rows are handed over at once; with fewer than these there is no second thread.
  static constexpr std::size_t kBatchRows = 256;

  /// `visit` must outlive the pipe.
  explicit RowPipe(const Visit& visit);
  ~RowPipe();
  RowPipe(const RowPipe&) = delete;
  RowPipe& operator=(const RowPipe&) = delete;

  /// Returns the row to fill; its strings may hold old content and memory.
  Row& next() { return filling_->rows[filling_->used]; }
  /// It is filled. False when a visit has failed: reading on is in vain.
  bool put();
  Outcome finish();

 private:
  struct Batch {
    std::vector<Row> rows{kBatchRows};
    std::size_t used = 0;
  };
  using BatchPtr = std::unique_ptr<Batch>;

  Outcome visit_all(Batch& batch) const;
  bool hand_over();
  void run();
  void end();

  const Visit& visit_;
  BatchPtr filling_;

  Mutex mutex_;
  CondVar changed_;
  std::deque<BatchPtr> full_ SUBLET_GUARDED_BY(mutex_);
  std::vector<BatchPtr> empty_ SUBLET_GUARDED_BY(mutex_);
  bool ended_ SUBLET_GUARDED_BY(mutex_) = false;  // no more rows come
  std::optional<Status> failure_ SUBLET_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace sublet::store
