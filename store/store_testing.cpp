#include "store/store_testing.h"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <thread>

namespace sublet::store::testing_support {

Txn create(std::string key, std::string bytes) {
  return Txn{{{key, 0}}, {{key, Put{std::move(bytes), Object::kNoHole, {}}, {}}}};
}
Txn update(std::string key, Revision revision, std::string bytes) {
  return Txn{{{key, revision}}, {{key, Put{std::move(bytes), Object::kNoHole, {}}, {}}}};
}
Txn remove(std::string key, Revision revision) { return Txn{{{key, revision}}, {{key, {}, {}}}}; }

Result<Revision> put(Store& store, std::string key, std::string bytes, std::uint32_t hole) {
  auto committed = store.commit(Txn{{}, {{std::move(key), Put{std::move(bytes), hole, {}}, {}}}});
  if (!committed) return tl::unexpected(committed.error());
  return committed->revisions[0];
}

void put_async(Store& store, std::string key, std::string bytes) {
  store.submit(Txn{{}, {{std::move(key), Put{std::move(bytes), Object::kNoHole, {}}, {}}}}, [](const auto&) {});
}

CommitCallback Answers::callback() {
  return [this](Result<Committed> result) {
    const MutexLock lock(mutex_);
    results_.push_back(std::move(result));
    arrived_.notify_all();
  };
}
void Answers::wait(std::size_t count) {
  MutexLock lock(mutex_);
  arrived_.wait(lock, [&]() SUBLET_REQUIRES(mutex_) { return results_.size() >= count; });
}
std::size_t Answers::count() const {
  const MutexLock lock(mutex_);
  return results_.size();
}
std::size_t Answers::failures() const {
  const MutexLock lock(mutex_);
  return static_cast<std::size_t>(std::count_if(results_.begin(), results_.end(), [](const auto& r) { return !r; }));
}
Reason Answers::reason() const {
  const MutexLock lock(mutex_);
  for (const auto& result : results_)
    if (!result) return result.error().reason;
  return Reason::unknown;
}

void Recorder::on_events(const std::vector<EventPtr>& events) {
  const MutexLock lock(mutex_);
  for (const EventPtr& event : events) {
    if (!events_.empty() && event->revision <= events_.back()->revision)
      violation_ = "Ordered or Unique: " + std::to_string(event->revision) + " after " +
                   std::to_string(events_.back()->revision);
    if (event->revision <= progress_)
      violation_ = "Bookmarkable: " + std::to_string(event->revision) + " after its bookmark";
    if (event->object->revision != event->revision) violation_ = "an event's object has another revision";
    events_.push_back(event);
  }
}
void Recorder::on_progress(Revision revision) {
  const MutexLock lock(mutex_);
  if (revision < progress_) violation_ = "Bookmarkable: went back to " + std::to_string(revision);
  progress_ = revision;
}
std::vector<EventPtr> Recorder::events() const {
  const MutexLock lock(mutex_);
  return events_;
}
std::vector<Revision> Recorder::revisions() const {
  std::vector<Revision> out;
  for (const EventPtr& event : events()) out.push_back(event->revision);
  return out;
}
std::string Recorder::violation() const {
  const MutexLock lock(mutex_);
  return violation_;
}

namespace {

class GatedLogImpl final : public GatedLog {
 public:
  explicit GatedLogImpl(std::unique_ptr<Log> below) : below_(std::move(below)) {}
  Outcome replay(const std::function<Outcome(Row&&)>& visit) override { return below_->replay(visit); }
  Revision compacted() const override { return below_->compacted(); }
  Revision last() const override { return below_->last(); }
  AppendError append(const std::vector<Row>& rows, std::string& error) override {
    const bool puts =
        std::any_of(rows.begin(), rows.end(), [](const Row& row) { return !row.deleted && !row.of_deletion; });
    const AppendError planned = pass(puts);
    if (planned == AppendError::none) return below_->append(rows, error);
    error = "planned failure";
    return planned;
  }
  AppendError compact(const std::vector<Revision>& rows, Revision floor, std::string& error) override {
    const AppendError planned = pass(false);
    return planned == AppendError::none ? below_->compact(rows, floor, error) : planned;
  }
  void idle() override { below_->idle(); }

  void hold() override {
    const MutexLock lock(mutex_);
    holding_ = true;
  }
  void wait_until_held() override {
    MutexLock lock(mutex_);
    changed_.wait(lock, [&]() SUBLET_REQUIRES(mutex_) { return held_; });
  }
  void release() override {
    const MutexLock lock(mutex_);
    holding_ = false;
    changed_.notify_all();
  }
  void fail_with(AppendError error) override {
    const MutexLock lock(mutex_);
    all_ = puts_ = error;
  }
  void fail_puts_with(AppendError error) override {
    const MutexLock lock(mutex_);
    puts_ = error;
  }

 private:
  AppendError pass(bool puts) {
    MutexLock lock(mutex_);
    held_ = holding_;
    changed_.notify_all();
    changed_.wait(lock, [&]() SUBLET_REQUIRES(mutex_) { return !holding_; });
    held_ = false;
    return puts ? puts_ : all_;
  }

  std::unique_ptr<Log> below_;
  Mutex mutex_;
  CondVar changed_;
  bool holding_ SUBLET_GUARDED_BY(mutex_) = false, held_ SUBLET_GUARDED_BY(mutex_) = false;
  AppendError all_ SUBLET_GUARDED_BY(mutex_) = AppendError::none, puts_ SUBLET_GUARDED_BY(mutex_) = AppendError::none;
};

}  // namespace

std::unique_ptr<Log> make_gated_log(std::unique_ptr<Log> below, GatedLog*& gate) {
  auto made = std::make_unique<GatedLogImpl>(std::move(below));
  gate = made.get();
  return made;
}

TempFolder::TempFolder() {
  // Memory where there is such a folder: what is tested is which syncs happen, not how long a disk takes for them.
  const std::filesystem::path base =
      ::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : std::filesystem::temp_directory_path();
  std::string pattern = (base / "sublet-store-XXXXXX").string();
  path_ = ::mkdtemp(pattern.data());
}
TempFolder::~TempFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace sublet::store::testing_support
