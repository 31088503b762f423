// Helpers of the store's tests: short transactions, a watcher that records, answers that can be waited for, and a log
// that can be held and told to fail. Test code only (store_testing.cpp is not part of the library).
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "base/eventually_testing.h"
#include "store/state/history.h"
#include "sublet/base/mutex.h"
#include "sublet/store/store.h"

namespace sublet::store::testing_support {

using sublet::testing_support::eventually;

Txn create(std::string key, std::string bytes);
Txn update(std::string key, Revision revision, std::string bytes);
Txn remove(std::string key, Revision revision);
/// Unguarded write; the revision.
Result<Revision> put(Store& store, std::string key, std::string bytes, std::uint32_t hole = Object::kNoHole);
void put_async(Store& store, std::string key, std::string bytes);

/// Collects the results of submits.
class Answers {
 public:
  CommitCallback callback();
  void wait(std::size_t count);
  std::size_t count() const;
  std::size_t failures() const;
  Reason reason() const;  // of the first failure

 private:
  mutable Mutex mutex_;
  CondVar arrived_;
  std::vector<Result<Committed>> results_ SUBLET_GUARDED_BY(mutex_);
};

/// Keeps what a watch delivers and checks the guarantees that need no model: Ordered, Unique, Bookmarkable.
class Recorder : public Watcher {
 public:
  void on_events(const std::vector<EventPtr>& events) override;
  void on_progress(Revision revision) override;
  std::vector<EventPtr> events() const;
  std::vector<Revision> revisions() const;
  Revision progress() const { return progress_; }
  /// Empty while every guarantee was kept.
  std::string violation() const;

 private:
  mutable Mutex mutex_;
  std::vector<EventPtr> events_;
  std::atomic<Revision> progress_{0};
  std::string violation_;
};

class GatedLog : public Log {
 public:
  virtual void hold() = 0;
  virtual void wait_until_held() = 0;
  virtual void release() = 0;
  virtual void fail_with(AppendError error) = 0;       // every append and compaction
  virtual void fail_puts_with(AppendError error) = 0;  // appends with anything but deletes
};
std::unique_ptr<Log> make_gated_log(std::unique_ptr<Log> below, GatedLog*& gate);

/// A folder that is removed at the end.
class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace sublet::store::testing_support
