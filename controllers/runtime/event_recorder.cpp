#include "controllers/runtime/event_recorder.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "controllers/runtime/calls.h"
#include "controllers/runtime/kinds.h"
#include "sublet/base/log.h"
#include "sublet/base/random.h"

namespace sublet::controllers {
namespace {

using schema::Document;
using schema::Value;

// Upstream's figures (client-go, tools/record/events_cache.go).
constexpr std::size_t kRemembered = 4096;
constexpr std::size_t kSimilarMax = 10;
constexpr std::chrono::seconds kSimilarFor{600};
constexpr double kSpamBurst = 25, kRefillPerSecond = 1.0 / 300;
constexpr std::string_view kCombined = "(combined from similar events): ";

constexpr std::size_t kMessageMax = 1024;
constexpr std::size_t kBatch = 64, kWaitingMax = 4096;  // beyond this what is new is dropped

std::string_view name_of_type(EventType type) { return type == EventType::normal ? "Normal" : "Warning"; }

/// Returns one hash of everything that makes two events alike. The lengths separate the parts.
std::size_t hash_of_parts(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (auto part : parts) text.append(std::to_string(part.size())).append(":").append(part);
  return std::hash<std::string>()(text);
}

std::string event_name(const std::string& about, std::int64_t nanos) {
  char digits[17];
  const auto end = std::to_chars(std::begin(digits), std::end(digits), nanos, 16).ptr;
  auto name = about + "." + std::string(digits, end);
  return name.size() <= kObjectNameMax ? name : uuid_v4(Random::system());
}

std::string namespace_for(const ObjectRef& about) {
  return about.namespace_name.empty() ? "default" : about.namespace_name;
}

Document event_of(const EventText& text, const EventCorrelator::Record& record) {
  auto event = Document::object();
  auto root = event.root();
  root.object("metadata").put("name", record.name);
  root["metadata"].put("namespace", namespace_for(text.about));
  auto about = root.object("involvedObject");
  about.put("kind", text.about.kind);
  if (!text.about.namespace_name.empty()) about.put("namespace", text.about.namespace_name);
  about.put("name", text.about.name);
  about.put("uid", text.about.uid);
  about.put("apiVersion", text.about.api_version);
  if (!text.about.resource_version.empty()) about.put("resourceVersion", text.about.resource_version);
  root.put("reason", text.reason);
  root.put("message", record.message);
  root.object("source").put("component", text.component);
  root.put("firstTimestamp", format_time(record.first));
  root.put("lastTimestamp", format_time(record.last));
  root.put("count", record.count);
  root.put("type", name_of_type(text.type));
  root.put("reportingComponent", text.component);
  root.put("reportingInstance", "");
  return event;
}

net::Request counted_again(const kube::Client& client, const std::string& namespace_name, const std::string& name,
                           const Value& event) {
  auto patch = Document::object();
  for (auto field : {"count", "lastTimestamp", "message"}) patch.root().put(field, event[field]);
  return client.patch_request(kEvents, namespace_name, name, kube::PatchType::strategic_merge, patch.to_json());
}

}  // namespace

EventCorrelator::Memory& EventCorrelator::memory(std::size_t key) {
  if (auto found = by_key_.find(key); found != by_key_.end()) {
    latest_.splice(latest_.begin(), latest_, found->second);
    return latest_.front().second;
  }
  if (latest_.size() >= kRemembered) {
    by_key_.erase(latest_.back().first);
    latest_.pop_back();
  }
  latest_.emplace_front(key, Memory());
  by_key_[key] = latest_.begin();
  return latest_.front().second;
}

bool EventCorrelator::over_budget(const EventText& text) {
  const auto& about = text.about;
  auto& seen = memory(hash_of_parts({"object", text.component, about.kind, about.namespace_name, about.name, about.uid,
                                     about.api_version, name_of_type(text.type)}));
  const auto now = clock_.now();
  if (seen.tokens < 0)
    seen.tokens = kSpamBurst;
  else
    seen.tokens = std::min(kSpamBurst,
                           seen.tokens + std::chrono::duration<double>(now - seen.refilled).count() * kRefillPerSecond);
  seen.refilled = now;
  if (seen.tokens < 1) return true;
  seen.tokens -= 1;
  return false;
}

EventCorrelator::Record EventCorrelator::correlate(const EventText& text) {
  const auto& about = text.about;
  const auto now = clock_.now();
  const auto similar = hash_of_parts({"similar", text.component, about.kind, about.namespace_name, about.name,
                                      about.uid, about.api_version, name_of_type(text.type), text.reason});
  auto same = hash_of_parts({"same", text.component, about.kind, about.namespace_name, about.name, about.uid,
                             about.api_version, name_of_type(text.type), text.reason, text.message});
  Record record;
  record.message = text.message;
  record.first = record.last = now;
  auto& group = memory(similar);
  if (now - group.last_similar > kSimilarFor) group.messages.clear();
  group.messages.insert(std::hash<std::string>()(text.message));
  group.last_similar = now;
  if (group.messages.size() >= kSimilarMax) {
    group.messages.erase(group.messages.begin());
    record.message = std::string(kCombined) + text.message;
    same = similar;
  }
  auto& seen = memory(same);
  if (seen.count == 0) {
    last_nanos_ = std::max<std::int64_t>(
        last_nanos_ + 1, std::chrono::duration_cast<std::chrono::nanoseconds>(now.time_since_epoch()).count());
    seen.name = event_name(about.name, last_nanos_);
    seen.first = now;
  }
  record.count = ++seen.count;
  record.name = seen.name;
  record.first = seen.first;
  if (record.message.size() > kMessageMax) record.message.resize(kMessageMax);
  record.skip = over_budget(text);
  return record;
}

void Events::record(const kube::Client& client, const EventText& text) {
  {
    MutexLock lock(mutex_);
    if (stopped_ || writes_.size() >= kWaitingMax) return;
    const auto record = correlator_.correlate(text);
    if (record.skip) return;
    writes_.push_back({&client, record.count == 1, namespace_for(text.about), record.name, event_of(text, record)});
    if (scheduled_) return;
    scheduled_ = true;
  }
  schedule();
}

// Without a worker the events wait until the next one is recorded.
void Events::schedule() {
  auto task = [weak = weak_from_this()] {
    if (auto self = weak.lock()) self->flush();
  };
  if (executor_.run(std::move(task))) return;
  MutexLock lock(mutex_);
  scheduled_ = false;
}

/// As many as can be written at once: two writes of one event must follow each other.
std::vector<Events::Write> Events::take_batch() {
  MutexLock lock(mutex_);
  std::vector<Write> batch;
  std::set<std::string> names;
  while (!stopped_ && !writes_.empty() && batch.size() < kBatch) {
    auto& next = writes_.front();
    if (!names.insert(next.namespace_name + "/" + next.name).second) break;
    batch.push_back(std::move(next));
    writes_.pop_front();
  }
  writing_ = !batch.empty();
  if (!writing_) {
    scheduled_ = false;
    rested_.notify_all();
  }
  return batch;
}

// One batch per task, so that the controllers have their turn.
void Events::flush() {
  auto batch = take_batch();
  if (batch.empty()) return;
  send(std::move(batch));
  {
    MutexLock lock(mutex_);
    writing_ = false;
    rested_.notify_all();
  }
  schedule();
}

void Events::send(std::vector<Write> batch) {
  const auto create = [](const Write& write) {
    return Call{write.client, write.client->create_request(kEvents, write.namespace_name, write.event.root())};
  };
  std::vector<Call> calls;
  for (const auto& write : batch)
    calls.push_back(write.create ? create(write)
                                 : Call{write.client, counted_again(*write.client, write.namespace_name, write.name,
                                                                    write.event.root())});
  const auto results = call_all(std::move(calls));
  std::vector<Call> again;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (results[i]) continue;
    // It ended an hour after it was last seen, or could not be written the first time.
    if (!batch[i].create && results[i].error().is(Reason::not_found))
      again.push_back(create(batch[i]));
    else
      log::debug("event.dropped", {{"event", batch[i].name}, {"error", results[i].error().message}});
  }
  if (!again.empty()) call_all(std::move(again));
}

void Events::stop() {
  MutexLock lock(mutex_);
  stopped_ = true;
  writes_.clear();
  while (writing_) rested_.wait(lock);
}

bool Events::idle() const {
  MutexLock lock(mutex_);
  return writes_.empty() && !writing_;
}

namespace {

thread_local std::uint64_t warnings_recorded = 0;

}  // namespace

void EventRecorder::warning(const ObjectRef& about, std::string reason, std::string message) const {
  ++warnings_recorded;
  events_.record(client_, {component_, about, EventType::warning, std::move(reason), std::move(message)});
}

std::uint64_t EventRecorder::warnings_of_this_thread() { return warnings_recorded; }

}  // namespace sublet::controllers
