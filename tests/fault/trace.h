// Trace: a store under random load, with everything needed to judge later what a fault may and may not have taken away.
//
// The model is what the store's own events say: the state after each batch. check() opens a store again and compares:
// nothing acknowledged is missing, batches are whole, nothing was invented, history is exact, revisions go on.
#pragma once

#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "store/state/tree.h"
#include "store/store_testing.h"
#include "sublet/base/mutex.h"
#include "sublet/store/sqlite_log.h"
#include "sublet/store/store.h"
#include "tests/fault/fault_vfs.h"

namespace sublet::store::fault {

struct Ack {
  std::size_t operations;  // of the VFS, when the answer came
  Revision revision;       // the highest that was answered
};

/// Events and the states after each batch, as watched from the first revision on.
class Model : public Watcher {
 public:
  void on_events(const std::vector<EventPtr>& events) override;
  void on_progress(Revision revision) override;
  /// Empty when `store` is exactly the state after one batch, at or above `acknowledged`, with that state's history.
  std::string difference(Store& store, Revision acknowledged) const;
  Revision last() const;

 private:
  mutable Mutex mutex_;
  std::vector<EventPtr> events_ SUBLET_GUARDED_BY(mutex_);
  PersistentMap map_ SUBLET_GUARDED_BY(mutex_);
  std::map<Revision, PersistentMap> states_ SUBLET_GUARDED_BY(mutex_){{kFirstRevision - 1, {}}};
};

/// Random transactions: creates, updates, deletes, several keys at once, values from nothing to more than a page.
class Load {
 public:
  explicit Load(unsigned seed, int keys = 40) : random_(seed), keys_(keys) {}
  Txn next(const Snapshot& pending);
  std::mt19937& random() { return random_; }

 private:
  Op op(const Snapshot& pending, std::set<std::string>& used);
  std::mt19937 random_;
  int keys_;
};

/// With little between two checkpoints, so that a short trace holds many, and little to make of a reserve.
SqliteLogOptions small_log(std::string path, std::string vfs = {}, std::string synchronous = "FULL");

/// Opens the files of `image` as a store of their own and compares; empty when all is well.
std::string check_image(const Image& image, const Model& model, Revision acknowledged);

/// An empty store at `path`, closed.
void create_store(const std::string& path);

/// A store on a fault VFS, under load, watched by a model.
struct Bench {
  testing_support::TempFolder folder;
  FaultVfs vfs;
  std::string path = folder.file("state.db");
  std::shared_ptr<Model> model = std::make_shared<Model>();
  std::unique_ptr<Store> store;
  std::unique_ptr<Subscription> watching;
  Mutex mutex;
  std::vector<Ack> acks;  // in order; added under the mutex, read at rest

  explicit Bench(std::string synchronous = "FULL");
  /// Opens the file (again); the error when that fails. What the model has not seen yet comes from the history.
  Outcome open();
  /// Rounds of up to six transactions at once, with compactions; returns how many failed.
  std::size_t run(Load& load, int rounds);
  CommitCallback acknowledge(testing_support::Answers& answers);
  Revision acknowledged() const { return acks.empty() ? 0 : acks.back().revision; }
  Revision acknowledged_at(std::size_t operations) const;

 private:
  std::string synchronous_;
};

}  // namespace sublet::store::fault
