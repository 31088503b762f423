// WatchHub: the watches of one loop, woken once per batch however many they are.
//
// A watch that keeps up is *live*: the hub reads each stretch of the store's history once for all of them, picks what
// is under each key prefix, and hands it on, to a slice of the watches per turn of the loop, so that other connections
// have their turn between. A watch that does not (it has just begun, resumes from long ago, or its peer reads slowly)
// reads the history by itself in run(), from its own revision, and becomes live when it has come to the end.
//
// What woken watches and an unfinished stretch hold belongs to the posted turn, not to the hub: a loop that ends before
// the turn comes lets go of them with it. (A watch holds its server and so the hub; a hub that held it back would keep
// all three for ever. Those that run are held until they end: finish_all() ends them.)
//
// Threads: add(), wake(), finish_all(), finish_under() and size() from any; the rest, and every call of a session, on
// the loop.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "apiserver/watch/frame_cache.h"
#include "sublet/base/mutex.h"
#include "sublet/net/loop.h"
#include "sublet/store/store.h"

namespace sublet::apiserver {

class WatchSession {
 public:
  virtual ~WatchSession() = default;
  /// After add() or wake(): do what there is to do.
  virtual void run(FrameCache& frames) = 0;
  /// All the events under the session's prefix in (from, up_to]. Only a live session looks at them; it may have read
  /// some of them already.
  virtual void deliver(const std::vector<store::EventPtr>& events, store::Revision from, store::Revision up_to,
                       FrameCache& frames) = 0;
  /// The history was compacted before the hub read it: the watch must read from `delivered()` on in run(), and will
  /// fail.
  virtual void fall_behind() = 0;
  /// Ends the stream cleanly.
  virtual void finish() = 0;
  /// Ends the watch once it has sent the events up to `last`.
  virtual void finish_after(store::Revision last) = 0;
};

class WatchHub {
 public:
  WatchHub(net::Loop& loop, store::Store& store);
  /// Keeps the session until remove(), and runs it.
  void add(const std::shared_ptr<WatchSession>& session, const std::string& prefix);
  void wake(std::shared_ptr<WatchSession> session);
  /// Ends all watches before it returns, and listens to the store no more. Not from a watch's own observer.
  void finish_all();
  /// The kind whose keys have this prefix is no longer served, or is served differently. Its watches end when they have
  /// sent the events up to `last`, which must be durable. Watches that begin later are not affected.
  void finish_under(std::string prefix, store::Revision last);
  std::size_t size() const;

  void remove(const WatchSession* session, std::string_view prefix);
  /// The session has read everything up to `cursor`, the store's end a moment ago.
  void went_live(store::Revision cursor);
  void left_live();
  /// Returns the revision up to which every live session has all events.
  store::Revision delivered() const { return state_->delivered; }

 private:
  using Sessions = std::vector<std::shared_ptr<WatchSession>>;
  /// Part of a stretch: what one prefix's watches get.
  struct Part {
    std::vector<store::EventPtr> events;
    Sessions sessions;  // who has not got it yet
  };
  struct Stretch {
    store::Revision from = 0, up_to = 0;
    std::vector<Part> parts;
  };
  /// What the next turn of the loop is for.
  struct Turn {
    Sessions woken;
    Stretch stretch;
  };
  struct State {
    State(net::Loop& loop_, store::Store& store_) : loop(loop_), store(store_) {}
    net::Loop& loop;
    store::Store& store;

    mutable Mutex mutex;
    std::map<std::string, std::unordered_map<const WatchSession*, std::shared_ptr<WatchSession>>, std::less<>> groups
        SUBLET_GUARDED_BY(mutex);
    std::weak_ptr<Turn> next SUBLET_GUARDED_BY(mutex);  // the posted turn, and what it holds
    bool committed SUBLET_GUARDED_BY(mutex) = false;    // the store has more than was read

    // the loop's
    FrameCache frames;
    std::size_t live = 0;
    store::Revision read = 0;       // how far the history was read for the live
    store::Revision delivered = 0;  // all watches have events up to this; behind `read` while a stretch is being sent
  };
  template <typename Fill>
  static void ask_turn(const std::shared_ptr<State>& state, const Fill& fill);
  static void on_commit(const std::shared_ptr<State>& state);
  static void run_turn(const std::shared_ptr<State>& state, Turn& posted);
  static void read_stretch(State& state, Stretch& stretch);
  static void history_gone(State& state);
  static void notify_slice(State& state, Stretch& stretch);
  /// Of those groups whose prefix begins with `under`.
  static Sessions all_sessions(const State& state, std::string_view under = "");

  std::shared_ptr<State> state_;
  std::unique_ptr<store::Subscription> listening_;
};

}  // namespace sublet::apiserver
