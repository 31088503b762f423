#include "store/state/history.h"

#include <algorithm>
#include <limits>

namespace sublet::store {
namespace {

constexpr std::size_t kEventOverhead = 128;    // event, ring slot, allocator
constexpr std::size_t kVersionOverhead = 320;  // object, index, allocator

/// What only the history keeps in memory because of this event.
std::size_t cost(const Event& event) {
  std::size_t bytes = kEventOverhead;
  if (event.previous) bytes += kVersionOverhead + event.previous->bytes.size();
  if (event.type == Event::Type::deleted) bytes += kVersionOverhead + event.object->bytes.size();
  return bytes;
}

}  // namespace

void apply_event(PersistentMap& map, const Event& event) {
  if (event.type == Event::Type::deleted)
    map.erase(event.object->key);
  else
    map.put(event.object);
}

void History::reset(PersistentMap map, Revision revision) {
  events_.clear();
  roots_.clear();
  roots_.push_back({revision, std::move(map)});
  events_since_root_ = bytes_ = 0;
}

void History::append(const std::vector<EventPtr>& events, const PersistentMap& map) {
  if (events.empty()) return;
  for (const EventPtr& event : events) {
    events_.push_back(event);
    bytes_ += cost(*event);
  }
  events_since_root_ += events.size();
  if (events_since_root_ < kRootStride) return;
  roots_.push_back({events.back()->revision, map});
  events_since_root_ = 0;
}

std::size_t History::index_after(Revision revision) const {
  const auto above = std::upper_bound(events_.begin(), events_.end(), revision,
                                      [](Revision r, const EventPtr& event) { return r < event->revision; });
  return static_cast<std::size_t>(above - events_.begin());
}

Revision History::read_after(Revision from, std::string_view prefix, std::size_t max,
                             std::vector<EventPtr>& out) const {
  const std::size_t begin = index_after(from);
  const std::size_t end = std::min(events_.size(), begin + max);
  for (std::size_t i = begin; i < end; ++i)
    if (std::string_view(events_[i]->object->key).starts_with(prefix)) out.push_back(events_[i]);
  return end == begin ? from : events_[end - 1]->revision;
}

PersistentMap History::Recipe::make() const {
  PersistentMap made = map;
  for (const EventPtr& event : replay) apply_event(made, *event);
  return made;
}

History::Recipe History::recipe(Revision revision) const {
  auto root = std::upper_bound(roots_.begin(), roots_.end(), revision,
                               [](Revision r, const Root& candidate) { return r < candidate.revision; });
  --root;  // the first root is the floor, and `revision` is not below it
  Recipe made{root->map, {}};
  const std::size_t end = index_after(revision);
  for (std::size_t i = index_after(root->revision); i < end; ++i) made.replay.push_back(events_[i]);
  return made;
}

Revision History::floor_within(std::size_t events_max, std::size_t bytes_max) const {
  std::size_t count = events_.size(), bytes = bytes_;
  Revision within = floor();
  for (auto event = events_.begin(); count > events_max || bytes > bytes_max; ++event, --count) {
    bytes -= cost(**event);
    within = (*event)->revision;
  }
  return within;
}

Revision History::floor_after(std::size_t events) const {
  return events < events_.size() ? events_[events]->revision - 1 : std::numeric_limits<Revision>::max();
}

History::Dropped History::raise_floor(Revision revision, PersistentMap map) {
  Dropped dropped;
  while (!events_.empty() && events_.front()->revision <= revision) {
    bytes_ -= cost(*events_.front());
    dropped.events.push_back(std::move(events_.front()));
    events_.pop_front();
  }
  while (!roots_.empty() && roots_.front().revision <= revision) {
    dropped.roots.push_back(std::move(roots_.front().map));
    roots_.pop_front();
  }
  roots_.push_front({revision, std::move(map)});
  events_since_root_ = std::min(events_since_root_, events_.size());
  return dropped;
}

}  // namespace sublet::store
