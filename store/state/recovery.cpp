#include "store/state/recovery.h"

#include <malloc.h>

#include "store/rows/row_codec.h"
#include "store/state/floor_state.h"
#include "store/state/pending.h"

namespace sublet::store {
namespace {

constexpr std::size_t kMany = 100'000;

class Recovery {
 public:
  Recovery(Revision floor, const StoreOptions& limits) : floor_(floor), limits_(limits) {}

  Outcome take(Row&& row) {
    const Revision revision = row.revision, create_revision = row.create_revision;
    if (revision <= last_) return fail(Reason::internal_error, name_of(revision, row.key) + " is out of order");
    std::string key;  // of a row whose object is not made of it
    if (row.deleted || revision > floor_) key = row.key;
    auto decoded = decode_row(std::move(row));
    if (!decoded) return tl::unexpected(decoded.error());
    // Compaction deletes no row above the floor, so these form an unbroken chain.
    if (decoded->previous_row > floor_ && decoded->previous_row != last_)
      return fail(Reason::internal_error,
                  "the row before " + name_of(revision, decoded->object ? decoded->object->key : key) + " is missing");
    last_ = revision;
    if (revision <= floor_) {
      if (!decoded->object) decoded->object = stamped(nullptr, std::move(key), revision, create_revision);
      at_floor_.take(std::move(decoded->object), create_revision, decoded->deleted);
      return {};
    }
    if (!begun_)
      if (Outcome begun = begin_history(); !begun) return begun;
    ObjectPtr previous = out_.map.find(key);
    if (decoded->deleted && !decoded->object) {
      if (!previous) return fail(Reason::internal_error, "the row before " + name_of(revision, key) + " is missing");
      decoded->object = stamped(previous, std::move(key), revision, create_revision);
    }
    return apply(*decoded, std::move(previous), create_revision);
  }

  Result<Recovered> finish(Revision last) {
    if (!begun_)
      if (Outcome begun = begin_history(); !begun) return tl::unexpected(begun.error());
    out_.last = last;
    // What sorted them stood between the objects: 18 MiB of a million.
    if (out_.map.size() > kMany) ::malloc_trim(0);
    return std::move(out_);
  }

 private:
  static std::string name_of(Revision revision, std::string_view key) {
    return "row " + std::to_string(revision) + " (" + std::string(key) + ")";
  }
  static ObjectPtr stamped(const ObjectPtr& previous, std::string key, Revision revision, Revision create_revision) {
    auto last = previous ? std::make_shared<Object>(*previous) : std::make_shared<Object>();
    last->key = std::move(key);
    last->revision = revision;
    last->create_revision = create_revision;
    return last;
  }

  Outcome apply(const DecodedRow& row, ObjectPtr previous, Revision create_revision) {
    const Revision revision = row.object->revision;
    const bool begins = create_revision == revision && !row.deleted;
    const bool other = previous && !begins && previous->create_revision != create_revision;
    if (begins != (previous == nullptr) || other)
      return fail(Reason::internal_error,
                  "a row of the same key before " + name_of(revision, row.object->key) + " is missing");
    auto event = std::make_shared<Event>();
    event->type = row.deleted ? Event::Type::deleted : previous ? Event::Type::updated : Event::Type::created;
    event->object = row.object;
    if (previous) out_.bytes -= counted_bytes(*previous);
    if (!row.deleted) out_.bytes += counted_bytes(*row.object);
    event->previous = std::move(previous);
    event->revision = revision;
    apply_event(out_.map, *event);
    remember(std::move(event));
    return {};
  }

  Outcome begin_history() {
    auto made = at_floor_.make(out_.garbage);
    if (!made) return tl::unexpected(made.error());
    out_.map = std::move(made->map);
    out_.bytes = made->bytes;
    out_.history.reset(out_.map, floor_);
    begun_ = true;
    return {};
  }

  void remember(EventPtr event) {
    History& history = out_.history;
    history.append({std::move(event)}, out_.map);
    // A little over the limit is fine, and saves raising the floor for each row.
    if (!history.exceeds(limits_.history_events_max + limits_.history_events_max / 16,
                         limits_.history_bytes_max + limits_.history_bytes_max / 16))
      return;
    const Revision floor = history.floor_within(limits_.history_events_max, limits_.history_bytes_max);
    for (const EventPtr& dropped : history.raise_floor(floor, history.recipe(floor).make()).events)
      add_garbage(*dropped, out_.garbage);
  }

  Revision floor_;
  const StoreOptions& limits_;
  Recovered out_;
  FloorState at_floor_;
  Revision last_ = 0;
  bool begun_ = false;
};

}  // namespace

void add_garbage(const Event& event, std::vector<Revision>& garbage) {
  if (event.previous) garbage.push_back(event.previous->revision);
  if (event.type == Event::Type::deleted) garbage.push_back(event.revision);
}

Result<Recovered> recover(Log& log, const StoreOptions& limits) {
  Recovery recovery(log.compacted(), limits);
  if (Outcome outcome = log.replay([&](Row&& row) { return recovery.take(std::move(row)); }); !outcome)
    return tl::unexpected(outcome.error());
  return recovery.finish(log.last());
}

}  // namespace sublet::store
