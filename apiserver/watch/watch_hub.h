// WatchHub: hands the store's events over from the commit thread to the loop, and keeps the running watches.
//
// A session that got something to do says so with wake(); the hub runs all woken sessions in one task on the loop, so a
// batch with a thousand watchers costs one wake-up. While a round runs, encoded frames are shared between its sessions
// (FrameCache) and forgotten afterwards, so idle watches hold no frames.
// The woken sessions belong to the task that runs them, not to the hub: a loop that ends before the task runs lets go
// of them with it. (A session holds its server and so the hub; a hub that held it back would keep all three for ever.)
// Threads: wake(), add() and remove() from any; rounds only on the loop.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "sublet/net/loop.h"
#include "sublet/store/store.h"

namespace sublet::apiserver {

/// Frames by event, form and kind of frame. Used on the loop's thread only.
class FrameCache {
 public:
  struct Key {
    const void* event = nullptr;
    const void* route = nullptr;
    std::uint32_t form = 0;
    bool operator==(const Key&) const = default;
  };
  using Frame = std::shared_ptr<const std::string>;
  Frame find(const Key& key) const;
  void keep(const Key& key, store::EventPtr event, Frame frame);
  void clear();

 private:
  struct Hash {
    std::size_t operator()(const Key& key) const;
  };
  struct Entry {
    store::EventPtr event;  // keeps the key's address from being given to another event
    Frame frame;
  };
  std::unordered_map<Key, Entry, Hash> frames_;
  std::size_t bytes_ = 0;
};

class WatchSession {
 public:
  virtual ~WatchSession() = default;
  /// On the loop: do what there is to do.
  virtual void run(FrameCache& frames) = 0;
  /// Ends the stream cleanly. Any thread.
  virtual void finish() = 0;
};

class WatchHub {
 public:
  explicit WatchHub(net::Loop& loop) : state_(std::make_shared<State>(loop)) {}
  void add(const std::shared_ptr<WatchSession>& session);
  void remove(const WatchSession* session);
  void wake(std::shared_ptr<WatchSession> session);
  /// Ends all watches before it returns. Not from a watch's own observer.
  void finish_all();
  std::size_t size() const;

 private:
  using Round = std::vector<std::shared_ptr<WatchSession>>;
  struct State {
    explicit State(net::Loop& loop_) : loop(loop_) {}
    net::Loop& loop;
    mutable std::mutex mutex;
    std::unordered_map<const WatchSession*, std::shared_ptr<WatchSession>> sessions;  // guarded by mutex
    std::weak_ptr<Round> next;  // the posted round; it and what it holds are guarded by mutex
    FrameCache frames;          // the loop's
  };
  static void run_round(State& state, Round& next);
  std::shared_ptr<State> state_;
};

}  // namespace sublet::apiserver
