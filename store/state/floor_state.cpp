#include "store/state/floor_state.h"

#include <algorithm>
#include <string>

#include "store/state/pending.h"

namespace sublet::store {
namespace {

std::string_view group_of(std::string_view key) { return key.substr(0, key.rfind('/') + 1); }

std::size_t common(std::string_view x, std::string_view y) {
  return static_cast<std::size_t>(std::mismatch(x.begin(), x.end(), y.begin(), y.end()).first - x.begin());
}

/// The first bytes of a name as a number that compares as they do.
std::uint64_t head_of(std::string_view name) {
  std::uint64_t head = 0;
  for (std::size_t i = 0; i < sizeof head; ++i)
    head = head << 8 | (i < name.size() ? static_cast<unsigned char>(name[i]) : 0u);
  return head;
}

}  // namespace

void FloorState::take(ObjectPtr object, Revision create_revision, bool deleted) {
  const std::string_view key = object->key, group = group_of(key), name = key.substr(group.size());
  if (last_ == groups_.end() || last_->first != group) last_ = groups_.try_emplace(group, Group{0, name}).first;
  std::string_view& beginning = last_->second.beginning;
  beginning = beginning.substr(0, common(beginning, name));
  const bool begins = create_revision == object->revision && !deleted;
  const auto bytes = static_cast<std::uint32_t>(counted_bytes(*object));
  rows_.push_back({std::move(object), create_revision, last_, bytes, deleted, begins});
}

/// False when a group lies within another's names ("a/b/" within "a/"): its keys do not all come after the other's.
bool FloorState::groups_are_apart() const {
  return std::adjacent_find(groups_.begin(), groups_.end(),
                            [](const auto& x, const auto& y) { return y.first.starts_with(x.first); }) == groups_.end();
}

std::vector<FloorState::Place> FloorState::sorted() {
  std::uint32_t rank = 0;
  for (auto& [name, group] : groups_) group.rank = rank++;
  std::vector<Place> places;
  places.reserve(rows_.size());
  for (const FloorRow& row : rows_) {
    const auto& [group, facts] = *row.group;
    const std::string_view rest = std::string_view(row.object->key).substr(group.size() + facts.beginning.size());
    places.push_back({facts.rank, static_cast<std::uint32_t>(places.size()), head_of(rest)});
  }
  const auto by_key = [this](const Place& x, const Place& y) {
    const int order = key_of(x).compare(key_of(y));
    return order != 0 ? order < 0 : x.row < y.row;
  };
  if (!groups_are_apart()) {
    std::sort(places.begin(), places.end(), by_key);
    return places;
  }
  std::sort(places.begin(), places.end(), [&](const Place& x, const Place& y) {
    if (x.group != y.group) return x.group < y.group;
    if (x.head != y.head) return x.head < y.head;
    return by_key(x, y);
  });
  return places;
}

Result<FloorState::Made> FloorState::make(std::vector<Revision>& garbage) {
  const std::vector<Place> places = sorted();
  std::vector<ObjectPtr> objects;
  objects.reserve(places.size());
  Made made;
  for (std::size_t at = 0; at < places.size();) {
    const std::size_t begin = at;
    FloorRow* current = nullptr;
    do {
      FloorRow& row = rows_[places[at].row];
      if (current && !row.begins && current->create_revision != row.create_revision)
        return fail(Reason::internal_error, "a row of the same key before row " + std::to_string(row.object->revision) +
                                                " (" + row.object->key + ") is missing");
      if (current) garbage.push_back(current->object->revision);
      if (row.deleted) garbage.push_back(row.object->revision);
      current = row.deleted ? nullptr : &row;
    } while (++at < places.size() && same_key(places[at], places[begin]));
    if (!current) continue;
    made.bytes += current->bytes;
    objects.push_back(std::move(current->object));
  }
  std::sort(garbage.begin(), garbage.end());
  std::vector<FloorRow>().swap(rows_);
  groups_.clear();
  last_ = groups_.end();
  made.map = PersistentMap::of_sorted(std::move(objects));
  return made;
}

}  // namespace sublet::store
