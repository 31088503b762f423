// Registry: the one answer to "what is this kind?": the kinds of one server at one time, the built-in ones and those
// made at run time (CRDs), with what each room says of them.
//
// An immutable snapshot, swapped whole when kinds come or go; whoever began with one (a request, a watch) holds it by
// shared_ptr to its end, and all it gives out lives as long: facts, handles, columns, parts.
//
// A **column** is what one room says of each resource: an object (a row of functions, a printer, a policy) that may
// have state. The room names it by its C++ type `Entry`, whose static `row_of(facts)` gives the entry of a built-in
// kind, most often from a constant table; who makes kinds at run time gives their entries along (KindSet). No room
// imports another, and this one knows none of them. A **part** is what a room derives from the whole snapshot: an
// index, a cache. Threads: any. Columns and parts are made on first use; of two that are made at once one goes.
#pragma once

#include <array>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "sublet/base/status.h"
#include "sublet/schema/table.h"

namespace sublet::schema {

class Registry;

namespace detail {

std::size_t next_part_slot();
/// Each type's place among a Registry's parts, the same in all.
template <class T>
std::size_t part_slot() {
  static const std::size_t slot = next_part_slot();
  return slot;
}

struct Part {
  virtual ~Part() = default;
};
template <class T>
struct PartOf final : Part {
  explicit PartOf(const Registry& registry) : value(registry) {}
  T value;
};

}  // namespace detail

/// A room's facts per resource: see the head of the file.
template <class Entry>
class Column {
 public:
  explicit Column(const Registry& registry);
  const Entry* operator[](std::size_t place) const { return entries_[place]; }

 private:
  std::vector<const Entry*> entries_;
};

/// Kinds made at run time, and what the rooms are to say of them.
class KindSet {
 public:
  explicit KindSet(std::shared_ptr<const Table> table) : table_(std::move(table)) {}

  /// The entry of a resource in one version, or in all ("").
  template <class Entry>
  KindSet& put(std::string group, std::string version, std::string resource, std::shared_ptr<const Entry> entry) {
    given_.push_back({detail::part_slot<Column<Entry>>(), std::move(group), std::move(version), std::move(resource),
                      std::move(entry)});
    return *this;
  }

 private:
  friend class Registry;
  struct Given {
    std::size_t column;
    std::string group, version, resource;
    std::shared_ptr<const void> entry;
  };
  std::shared_ptr<const Table> table_;
  std::vector<Given> given_;
};

class Registry {
 public:
  /// The built-in kinds alone. For composition roots and tests: everyone else has a Registry handed in.
  static const std::shared_ptr<const Registry>& builtin();
  /// The built-in kinds and these. invalid: a resource or kind that is there already. `also_served`: group versions of
  /// the built-in kinds that are served beside the default ones, as behind upstream's --runtime-config
  /// ("scheduling.k8s.io/v1alpha2"); invalid: one that there is not.
  static Result<std::shared_ptr<const Registry>> with(std::vector<KindSet> sets,
                                                      std::vector<std::string> also_served = {});
  ~Registry();
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  std::string_view release() const;  // "v1.36.3"
  const std::vector<std::string>& also_served() const { return also_served_; }
  std::span<const GroupFacts> groups() const { return groups_; }           // in discovery order
  std::span<const ResourceFacts> resources() const { return resources_; }  // in discovery order
  const ResourceFacts* find_resource(std::string_view group, std::string_view version, std::string_view resource) const;
  /// The resource whose kind this is; null for kinds that are no resource (Status, DeleteOptions, lists).
  const ResourceFacts* find_resource_of_kind(std::string_view group, std::string_view version,
                                             std::string_view kind) const;
  /// The resource in the version (and group) that it is stored in: itself when it is stored as it is.
  const ResourceFacts& storage_of(const ResourceFacts& facts) const;
  /// The type of any known kind, lists and meta kinds included. Missing: unknown.
  Type find_kind(std::string_view group, std::string_view version, std::string_view kind) const;
  Type find_type(std::string_view definition_name) const;
  /// Every kind: the built-in ones ordered by kind, group, version, then those of each table likewise.
  std::size_t kind_count() const;
  KindFacts kind_at(std::size_t i) const;

  /// Place of a resource in resources(); `facts` must be one of them.
  std::size_t place_of(const ResourceFacts& facts) const;
  /// The entry of a room's column for a resource of this Registry; null when the room has nothing to say.
  template <class Entry>
  const Entry* entry(const ResourceFacts& facts) const {
    return part<Column<Entry>>()[place_of(facts)];
  }
  /// What was given for the resource when it was made at run time; null: nothing.
  template <class Entry>
  const Entry* given(const ResourceFacts& facts) const {
    return static_cast<const Entry*>(find_given(detail::part_slot<Column<Entry>>(), facts));
  }
  /// The snapshot's own T, made by T(const Registry&) at the first call. It locks itself, if it changes at all.
  template <class T>
  T& part() const;

 private:
  static constexpr std::size_t kPartsMax = 16;

  Registry() = default;
  void add_table(std::shared_ptr<const Table> table);
  void add_groups(const Table& table);
  void add_resources(const Table& table);
  Outcome serve_too(std::string group_version);
  void sort_indexes();
  Outcome check_unique() const;
  const void* find_given(std::size_t column, const ResourceFacts& facts) const;
  using GivenKey = std::tuple<std::size_t, std::string_view, std::string_view>;
  static GivenKey given_key(const KindSet::Given& given);
  friend std::size_t detail::next_part_slot();

  std::vector<std::shared_ptr<const Table>> tables_;  // the built-in one first
  std::vector<GroupFacts> groups_;
  std::vector<std::unique_ptr<std::vector<SubresourceFacts>>> subresources_;  // one per table
  std::vector<ResourceFacts> resources_;
  std::vector<std::uint16_t> by_resource_, by_kind_;  // ordered by (resource, group, version), (kind, group, version)
  std::vector<std::string> also_served_;
  std::vector<KindSet::Given> given_;  // ordered by (column, resource, group)
  mutable std::array<std::atomic<detail::Part*>, kPartsMax> parts_{};
};

template <class T>
T& Registry::part() const {
  std::atomic<detail::Part*>& slot = parts_[detail::part_slot<T>()];
  if (detail::Part* known = slot.load(std::memory_order_acquire)) return static_cast<detail::PartOf<T>*>(known)->value;
  auto made = std::make_unique<detail::PartOf<T>>(*this);
  detail::Part* expected = nullptr;
  if (slot.compare_exchange_strong(expected, made.get(), std::memory_order_acq_rel)) return made.release()->value;
  return static_cast<detail::PartOf<T>*>(expected)->value;  // another thread was faster
}

template <class Entry>
Column<Entry>::Column(const Registry& registry) {
  entries_.reserve(registry.resources().size());
  for (const ResourceFacts& facts : registry.resources()) {
    const Entry* given = registry.given<Entry>(facts);
    entries_.push_back(given ? given : Entry::row_of(facts));
  }
}

}  // namespace sublet::schema
