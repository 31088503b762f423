// FrameCache: watch frames, encoded once for all the watchers of one loop that want the same form.
//
// It holds what the present turns of the loop share and is cleared when they are over, so idle watches hold no frames.
// Threads: used on its loop's thread only.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "sublet/schema/registry.h"
#include "sublet/store/store.h"

namespace sublet::apiserver {

/// Frames by event, route and form.
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
  /// `kinds`: the snapshot that the route is of.
  void keep(const Key& key, store::EventPtr event, std::shared_ptr<const schema::Registry> kinds, Frame frame);
  void clear();

 private:
  struct Hash {
    std::size_t operator()(const Key& key) const;
  };
  struct Entry {
    // Keep the key's addresses from being given to another event, another route.
    store::EventPtr event;
    std::shared_ptr<const schema::Registry> kinds;
    Frame frame;
  };
  std::unordered_map<Key, Entry, Hash> frames_;
  std::size_t bytes_ = 0;
};

}  // namespace sublet::apiserver
