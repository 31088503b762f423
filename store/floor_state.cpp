#include "store/floor_state.h"

#include <algorithm>
#include <map>

namespace sublet::store {
namespace {

std::string_view group_of(std::string_view key) { return key.substr(0, key.rfind('/') + 1); }

/// The first bytes of a name as a number that compares as they do.
std::uint64_t head_of(std::string_view name) {
  std::uint64_t head = 0;
  for (std::size_t i = 0; i < sizeof head; ++i)
    head = head << 8 | (i < name.size() ? static_cast<unsigned char>(name[i]) : 0u);
  return head;
}

struct Place {
  std::uint32_t group, row;
  std::uint64_t head;
};

}  // namespace

// By key, rows of one key in revision order.
void FloorState::sort() {
  std::map<std::string_view, std::uint32_t> groups;  // resource and namespace
  std::vector<Place> places;
  places.reserve(rows_.size());
  auto last = groups.end();
  std::vector<std::map<std::string_view, std::uint32_t>::iterator> group_of_row;
  group_of_row.reserve(rows_.size());
  for (const FloorRow& row : rows_) {
    const std::string_view key = row.object->key, group = group_of(key);
    if (last == groups.end() || last->first != group) last = groups.try_emplace(group, 0).first;
    group_of_row.push_back(last);
    places.push_back({0, static_cast<std::uint32_t>(places.size()), head_of(key.substr(group.size()))});
  }
  std::uint32_t rank = 0;
  for (auto& [group, number] : groups) number = rank++;
  for (Place& place : places) place.group = group_of_row[place.row]->second;
  std::sort(places.begin(), places.end(), [this](const Place& x, const Place& y) {
    if (x.group != y.group) return x.group < y.group;
    if (x.head != y.head) return x.head < y.head;
    const int names = rows_[x.row].object->key.compare(rows_[y.row].object->key);
    return names != 0 ? names < 0 : x.row < y.row;
  });
  std::vector<FloorRow> sorted;
  sorted.reserve(rows_.size());
  for (const Place& place : places) sorted.push_back(std::move(rows_[place.row]));
  rows_ = std::move(sorted);
  // A group within another's names ("a/b" and "a/b/c") stands elsewhere than by its rank.
  const auto before = [](const FloorRow& x, const FloorRow& y) { return x.object->key < y.object->key; };
  if (!std::is_sorted(rows_.begin(), rows_.end(), before)) std::stable_sort(rows_.begin(), rows_.end(), before);
}

Result<PersistentMap> FloorState::make(std::vector<Revision>& garbage) {
  sort();
  std::vector<ObjectPtr> objects;
  objects.reserve(rows_.size());
  for (std::size_t at = 0; at < rows_.size();) {
    const std::size_t begin = at;
    ObjectPtr current;
    for (; at < rows_.size() && rows_[at].object->key == rows_[begin].object->key; ++at) {
      FloorRow& row = rows_[at];
      const Revision revision = row.object->revision;
      const bool begins = row.create_revision == revision && !row.deleted;
      if (current && !begins && current->create_revision != row.create_revision)
        return fail(Reason::internal_error, "a row of the same key before row " + std::to_string(revision) + " (" +
                                                row.object->key + ") is missing");
      if (current) garbage.push_back(current->revision);
      if (row.deleted) garbage.push_back(revision);
      current = row.deleted ? nullptr : row.object;
    }
    if (current) objects.push_back(std::move(current));
  }
  std::sort(garbage.begin(), garbage.end());
  std::vector<FloorRow>().swap(rows_);
  return PersistentMap::of_sorted(std::move(objects));
}

}  // namespace sublet::store
