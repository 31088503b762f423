// FlowControl: which requests are worked on at the same time, by the FlowSchemas and PriorityLevelConfigurations in the
// store as of the last commit.
//
// A request's schema is the first that matches (by matchingPrecedence, then name); its level has seats, a share of all.
// What a level does not use of what it may lend, another one borrows at once; a level that wants its own again gets
// them as they come free, before any borrower. (Upstream moves seats between levels every ten seconds.) The levels
// `exempt` and `catch-all` with their schemas act even while they are not stored. The users of sublet's components
// (the syncer) are exempt whatever is stored.
//
// It follows the store on the commit thread. While no request waits, a request takes a lock twice and allocates
// nothing. Lifecycle: construct over an open store; stop() before the store goes, which refuses those who wait. It
// outlives every Seat. Threads: any.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "apiserver/flowcontrol/flow_schema.h"
#include "apiserver/flowcontrol/priority_level.h"
#include "apiserver/request/seat.h"
#include "sublet/base/clock.h"
#include "sublet/base/mutex.h"
#include "sublet/store/store.h"

namespace sublet::apiserver {

class FlowControl final : public SeatKeeper {
 public:
  FlowControl(store::Store& store, Clock& clock, std::int64_t seats, std::set<std::string, std::less<>> components);
  ~FlowControl();
  FlowControl(const FlowControl&) = delete;
  FlowControl& operator=(const FlowControl&) = delete;

  std::shared_ptr<const Flow> classify(const Attributes& attributes) const;
  /// Takes seats at once; false: the request has to wait, or to go.
  bool enter(const Flow& flow, unsigned seats, std::uint64_t flow_value, Seat& seat);
  /// What enter() did not let in: it waits with others of `flow_value` until resume() or refuse(), which may come
  /// before this returns. `seat` and `flow` live as long as `request`.
  void park(const Flow& flow, unsigned seats, std::uint64_t flow_value, Seat& seat, const ParkedPtr& request);
  /// It has waited long enough.
  void give_up(const ParkedPtr& request);
  void give_back(Seat& seat) override;
  /// Whether somebody waits for what this seat takes: of its level, or of those that its level has borrowed from.
  bool is_wanted(const Seat& seat) const;
  /// The most seats that one request of this flow may take.
  unsigned widest(const Flow& flow) const;
  /// For a 429 of this level.
  int retry_after(const Flow& flow);
  void stop();

 private:
  using Flows = std::vector<std::shared_ptr<const Flow>>;
  struct Entry {
    store::Revision revision = 0;
    std::shared_ptr<const FlowSchema> schema = nullptr;  // or
    std::shared_ptr<const LevelSpec> level = nullptr;
    std::shared_ptr<const Flow> flow = nullptr;  // of `schema`, as long as its level is the same
  };
  /// What is called once the lock is left.
  struct Calls {
    std::vector<ParkedPtr> resumed, refused;
    Refusal why = Refusal::queue_full;
    void run() const;
  };

  void take(const std::vector<store::EventPtr>& events);
  void note(const store::Object& object, bool deleted) SUBLET_REQUIRES(mutex_);
  void rebuild() SUBLET_REQUIRES(mutex_);
  void replace_flows(const std::set<std::string>& schemas) SUBLET_REQUIRES(mutex_);
  void settle_level(const std::string& name) SUBLET_REQUIRES(mutex_);
  void share_seats() SUBLET_REQUIRES(mutex_);
  std::shared_ptr<const Flow> flow_of(const std::shared_ptr<const FlowSchema>& schema,
                                      const std::shared_ptr<PriorityLevel>& level) const SUBLET_REQUIRES(mutex_);
  bool fits(const PriorityLevel& level, unsigned seats) const SUBLET_REQUIRES(mutex_);
  bool dispatch_one(PriorityLevel& level, bool borrowing, SteadyTime now, Calls& calls) SUBLET_REQUIRES(mutex_);
  void dispatch(SteadyTime now, Calls& calls) SUBLET_REQUIRES(mutex_);
  static void count_refused(const ParkedRequest& request, Refusal why);

  Clock& clock_;
  const std::int64_t seats_;
  const std::set<std::string, std::less<>> components_;
  std::vector<std::shared_ptr<const FlowSchema>> imagined_schemas_;  // the mandatory ones, which cannot be changed
  std::vector<LevelSpec> imagined_levels_;
  mutable Mutex mutex_;
  std::map<std::string, Entry, std::less<>> entries_ SUBLET_GUARDED_BY(mutex_);  // by key: schemas, then levels
  std::map<std::string, store::Revision> gone_ SUBLET_GUARDED_BY(mutex_);  // while what was there is still being read
  // Names, since the last rebuild().
  std::set<std::string> changed_levels_ SUBLET_GUARDED_BY(mutex_), changed_schemas_ SUBLET_GUARDED_BY(mutex_);
  bool loaded_ SUBLET_GUARDED_BY(mutex_) = false;
  bool stopped_ SUBLET_GUARDED_BY(mutex_) = false;
  std::shared_ptr<const Flows> flows_ SUBLET_GUARDED_BY(mutex_);
  std::shared_ptr<const Flow> exempt_ SUBLET_GUARDED_BY(mutex_);
  std::map<std::string, std::shared_ptr<PriorityLevel>> levels_ SUBLET_GUARDED_BY(mutex_);  // by name
  std::vector<std::shared_ptr<PriorityLevel>> leaving_ SUBLET_GUARDED_BY(mutex_);  // deleted, with requests still
  std::int64_t spoken_for_ SUBLET_GUARDED_BY(mutex_) = 0;                          // seats, over all levels
  std::size_t waiting_ SUBLET_GUARDED_BY(mutex_) = 0;
  std::vector<std::unique_ptr<store::Subscription>> following_;
};

}  // namespace sublet::apiserver
