#include "tests/fault/trace.h"

#include <algorithm>
#include <fstream>
#include <set>
#include <stdexcept>

namespace sublet::store::fault {
namespace {

bool same(const Object& a, const Object& b) {
  return a.key == b.key && a.bytes == b.bytes && a.hole == b.hole && a.revision == b.revision &&
         a.create_revision == b.create_revision && a.index.uid == b.index.uid && a.index.labels == b.index.labels;
}

std::string describe(const Event& event) {
  const Object& object = *event.object;
  return std::to_string(event.revision) + " (type " + std::to_string(static_cast<int>(event.type)) + ", " + object.key +
         ", created at " + std::to_string(object.create_revision) + ", " + std::to_string(object.bytes.size()) +
         " bytes, hole " + std::to_string(object.hole) + ", uid " + object.index.uid.str() + ")";
}

std::string compare_states(const PersistentMap& expected, const Snapshot& found) {
  if (expected.size() != found.count(""))
    return std::to_string(found.count("")) + " objects instead of " + std::to_string(expected.size());
  std::string difference;
  found.scan("", "", [&](const ObjectPtr& object) {
    const ObjectPtr wanted = expected.find(object->key);
    if (!wanted || !same(*wanted, *object)) difference = "object " + object->key + " differs";
    return difference.empty();
  });
  return difference;
}

std::string compare_history(const std::vector<EventPtr>& expected, Store& store) {
  auto recorder = std::make_shared<testing_support::Recorder>();
  const Revision floor = store.compacted();
  if (auto read = store.watch("", floor, recorder); !read) return "no history: " + read.error().message;
  const std::vector<EventPtr> found = recorder->events();
  const Revision last = store.snapshot().revision();
  std::size_t at = 0;
  for (const EventPtr& event : expected) {
    if (event->revision <= floor || event->revision > last) continue;
    if (at == found.size()) return "event " + std::to_string(event->revision) + " is missing";
    if (found[at]->type != event->type || !same(*found[at]->object, *event->object))
      return "event " + describe(*event) + " was kept as " + describe(*found[at]);
    ++at;
  }
  return at == found.size() ? recorder->violation() : "an event was invented";
}

}  // namespace

void Model::on_events(const std::vector<EventPtr>& events) {
  const MutexLock lock(mutex_);
  for (const EventPtr& event : events) {
    events_.push_back(event);
    apply_event(map_, *event);
  }
}

void Model::on_progress(Revision revision) {
  const MutexLock lock(mutex_);
  states_[revision] = map_;
}

Revision Model::last() const {
  const MutexLock lock(mutex_);
  return states_.rbegin()->first;
}

std::string Model::difference(Store& store, Revision acknowledged) const {
  const MutexLock lock(mutex_);
  const Snapshot found = store.snapshot();
  if (found.revision() < acknowledged)
    return "acknowledged " + std::to_string(acknowledged) + ", found only " + std::to_string(found.revision());
  const auto state = states_.find(found.revision());
  if (state == states_.end()) return "revision " + std::to_string(found.revision()) + " is not the end of a batch";
  if (std::string difference = compare_states(state->second, found); !difference.empty()) return difference;
  return compare_history(events_, store);
}

Op Load::op(const Snapshot& pending, std::set<std::string>& used) {
  std::string key;
  do key = "things/" + std::to_string(random_() % static_cast<unsigned>(keys_));
  while (!used.insert(key).second);
  const bool there = pending.get(key) != nullptr;
  static constexpr std::size_t kSizes[] = {0, 10, 100, 500, 1200, 6000};
  Put put;
  put.bytes = std::string(kSizes[random_() % 6], 'x') + std::to_string(random_());
  put.hole = random_() % 2 == 0 ? Object::kNoHole : static_cast<std::uint32_t>(put.bytes.size() / 2);
  put.index.uid = std::to_string(random_());
  if (!there || random_() % 4 != 0) return Op{key, std::move(put), {}};
  if (random_() % 2 == 0) return Op{key, {}, {}};
  return Op{key, {}, std::move(put)};
}

Txn Load::next(const Snapshot& pending) {
  Txn txn;
  std::set<std::string> used;
  for (unsigned n = random_() % 4 == 0 ? 1 + random_() % 4 : 1; n > 0; --n) txn.ops.push_back(op(pending, used));
  for (const Op& one : txn.ops) {
    const ObjectPtr there = pending.get(one.key);
    txn.guards.push_back({one.key, there ? there->revision : 0});
  }
  return txn;
}

SqliteLogOptions small_log(std::string path, std::string vfs, std::string synchronous) {
  SqliteLogOptions options{std::move(path), std::move(vfs), std::move(synchronous)};
  options.checkpoint_pages_idle = 24;
  options.checkpoint_pages_max = 60;
  options.reserve_margin = 0;
  return options;
}

std::string check_image(const Image& image, const Model& model, Revision acknowledged) {
  const testing_support::TempFolder folder;
  std::string path;
  for (const auto& [name, content] : image) {
    std::ofstream(folder.file(name), std::ios::binary) << content;
    if (name.ends_with(".db")) path = folder.file(name);
  }
  auto log = open_sqlite_log(small_log(path));
  if (!log) return log.error().message;
  auto store = Store::open(std::move(*log));
  if (!store) return store.error().message;
  if (std::string difference = model.difference(**store, acknowledged); !difference.empty()) return difference;
  const Revision before = (*store)->snapshot().revision();
  auto next = testing_support::put(**store, "next", "");
  if (!next) return next.error().message;
  return *next > before ? "" : "revision " + std::to_string(*next) + " was given again";
}

void create_store(const std::string& path) {
  auto log = open_sqlite_log({path});
  if (log) (void)Store::open(std::move(*log));
}

Bench::Bench(std::string synchronous) : synchronous_(std::move(synchronous)) {
  create_store(path);
  vfs.adopt(path);
  if (const Outcome opened = open(); !opened) throw std::runtime_error(opened.error().message);
}

Outcome Bench::open() {
  auto log = open_sqlite_log(small_log(path, vfs.name(), synchronous_));
  if (!log) return tl::unexpected(log.error());
  StoreOptions store_options;
  store_options.compact_step_rows = 16;
  store_options.full_probe = std::chrono::milliseconds(0);
  auto opened = Store::open(std::move(*log), store_options);
  if (!opened) return tl::unexpected(opened.error());
  store = std::move(*opened);
  watching = *store->watch("", model->last(), model);
  return {};
}

std::size_t Bench::run(Load& load, int rounds) {
  testing_support::Answers answers;
  std::size_t sent = 0;
  for (int round = 0; round < rounds; ++round) {
    for (unsigned n = 1 + load.random()() % 6; n > 0; --n)
      if (store->submit(load.next(store->pending()), acknowledge(answers))) ++sent;
    answers.wait(sent);
    if (round % 40 == 39) (void)store->compact(store->snapshot().revision() - 30);
  }
  return answers.failures();
}

CommitCallback Bench::acknowledge(testing_support::Answers& answers) {
  return [this, collect = answers.callback()](Result<Committed> result) {
    if (result) {
      const MutexLock lock(mutex);
      acks.push_back({vfs.operations(), result->revisions.back()});
    }
    collect(std::move(result));
  };
}

Revision Bench::acknowledged_at(std::size_t operations) const {
  Revision revision = 0;
  for (const Ack& ack : acks)
    if (ack.operations <= operations) revision = ack.revision;
  return revision;
}

}  // namespace sublet::store::fault
