#include "store/state/pending.h"

#include <algorithm>

#include "store/rows/row_codec.h"

namespace sublet::store {
namespace {

std::shared_ptr<Object> make_object(std::string key, Put&& put) {
  auto object = std::make_shared<Object>();
  object->key = std::move(key);
  object->bytes = std::move(put.bytes);
  object->hole = put.hole;
  object->index = std::move(put.index);
  return object;
}

bool holds(const Guard& guard, const PersistentMap& map) {
  const ObjectPtr present = map.find(guard.key);
  return guard.revision == 0 ? present == nullptr : present != nullptr && present->revision == guard.revision;
}

EventPtr make_event(Event::Type type, ObjectPtr object, ObjectPtr previous) {
  auto event = std::make_shared<Event>();
  event->type = type;
  event->revision = object->revision;
  event->object = std::move(object);
  event->previous = std::move(previous);
  return event;
}

/// Makes the change's event and its effect on `map`; null for a delete of nothing.
EventPtr apply_change(PendingTxn::Change& change, PersistentMap& map, Revision revision) {
  // Applied before (and undone by a full disk): others may hold that object, so stamp a copy.
  if (change.object && change.object->revision != 0) change.object = std::make_shared<Object>(*change.object);
  if (!change.deleted) {
    change.object->revision = revision;
    ObjectPtr previous = map.put(change.object);
    change.object->create_revision = previous ? previous->create_revision : revision;
    const auto type = previous ? Event::Type::updated : Event::Type::created;
    return make_event(type, change.object, std::move(previous));
  }
  ObjectPtr previous = map.erase(change.key);
  if (!previous) return nullptr;
  auto last = change.object ? change.object : std::make_shared<Object>(*previous);
  last->revision = revision;
  last->create_revision = previous->create_revision;
  return make_event(Event::Type::deleted, std::move(last), std::move(previous));
}

}  // namespace

PendingTxn::PendingTxn(Txn&& txn, CommitCallback callback) : guards(std::move(txn.guards)), done(std::move(callback)) {
  changes.reserve(txn.ops.size());
  for (Op& op : txn.ops) {
    if (op.put)
      changes.push_back({{}, make_object(std::move(op.key), std::move(*op.put)), false, op.of_deletion});
    else if (op.last_state)
      changes.push_back({op.key, make_object(op.key, std::move(*op.last_state)), true});
    else
      changes.push_back({std::move(op.key), nullptr, true});
  }
}

bool PendingTxn::needs_room() const {
  return std::any_of(changes.begin(), changes.end(),
                     [](const Change& change) { return !change.deleted && !change.of_deletion; });
}

std::vector<EventPtr> Batch::events() const {
  std::vector<EventPtr> out;
  out.reserve(ops);
  for (const PendingTxn& txn : txns) out.insert(out.end(), txn.events.begin(), txn.events.end());
  return out;
}

std::vector<Row> Batch::rows(Revision previous_row) const {
  std::vector<Row> out;
  out.reserve(ops);
  for (const PendingTxn& txn : txns)
    for (std::size_t i = 0; i < txn.changes.size(); ++i) {
      const PendingTxn::Change& change = txn.changes[i];
      out.push_back(encode_row(*txn.events[i]->object, change.deleted, change.object != nullptr, previous_row));
      out.back().of_deletion = change.of_deletion;
      previous_row = out.back().revision;
    }
  return out;
}

void Pending::reset(PersistentMap map, std::size_t bytes, Revision last, const StoreOptions& options) {
  map_ = std::move(map);
  bytes_ = bytes;
  last_ = last;
  batch_ops_max_ = options.batch_ops_max;
  quota_ = options.quota;
}

// Only what adds is refused: a store above its quota can be made smaller in any way.
bool Pending::over_quota(const PersistentMap& next, std::size_t bytes) const {
  return (quota_.objects != 0 && next.size() > quota_.objects && next.size() > map_.size()) ||
         (quota_.bytes != 0 && bytes > quota_.bytes && bytes > bytes_);
}

Pending::Answer Pending::apply(PendingTxn& txn) {
  for (const Guard& guard : txn.guards)
    if (!holds(guard, map_)) return Answer::guard_failed;
  PersistentMap next = map_;
  std::size_t bytes = bytes_;
  Revision revision = last_;
  std::vector<EventPtr> events;
  events.reserve(txn.changes.size());
  for (PendingTxn::Change& change : txn.changes) {
    EventPtr event = apply_change(change, next, ++revision);
    if (!event) return Answer::guard_failed;
    if (event->previous) bytes -= counted_bytes(*event->previous);
    if (!change.deleted) bytes += counted_bytes(*event->object);
    events.push_back(std::move(event));
  }
  if (txn.needs_room() && over_quota(next, bytes)) return Answer::over_quota;
  map_ = std::move(next);
  bytes_ = bytes;
  last_ = revision;
  txn.events = std::move(events);
  return Answer::accepted;
}

Pending::Answer Pending::accept(PendingTxn& txn) {
  if (const Answer answer = apply(txn); answer != Answer::accepted) return answer;
  if (queue_.empty() || queue_.back().ops >= batch_ops_max_) queue_.emplace_back();
  Batch& batch = queue_.back();
  batch.ops += txn.changes.size();
  batch.txns.push_back(std::move(txn));
  batch.map = map_;
  batch.bytes = bytes_;
  batch.revision = last_;
  return Answer::accepted;
}

Batch Pending::take() {
  Batch batch = std::move(queue_.front());
  queue_.pop_front();
  return batch;
}

Pending::Undone Pending::rollback(const PersistentMap& durable, std::size_t bytes, Batch&& failed, bool retry_failed) {
  Undone undone;
  std::deque<Batch> old = std::move(queue_);
  queue_.clear();
  map_ = durable;
  bytes_ = bytes;
  const auto retry = [&](PendingTxn& txn, bool allowed) {
    txn.events.clear();
    const bool barrier = txn.changes.empty();  // what it saw is undone
    if (!barrier && (!allowed || txn.needs_room()))
      undone.refused.push_back(std::move(txn));
    else if (barrier || accept(txn) != Answer::accepted)
      undone.conflicting.push_back(std::move(txn));
  };
  for (PendingTxn& txn : failed.txns) retry(txn, retry_failed);
  for (Batch& batch : old)
    for (PendingTxn& txn : batch.txns) retry(txn, true);
  return undone;
}

std::vector<PendingTxn> Pending::abandon(const PersistentMap& durable, std::size_t bytes) {
  std::vector<PendingTxn> out;
  for (Batch& batch : queue_)
    for (PendingTxn& txn : batch.txns) out.push_back(std::move(txn));
  queue_.clear();
  map_ = durable;
  bytes_ = bytes;
  return out;
}

}  // namespace sublet::store
