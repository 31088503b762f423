// The informer's machine: list -> watch -> (resume | relist), driven by messages that the transport's threads leave in
// an inbox and that the strand works off. All decisions are taken on the strand, under `turn`.
#include "sublet/kube/informer.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <unordered_set>
#include <variant>

#include "kube/answer.h"
#include "kube/object_cache.h"
#include "kube/text_blocks.h"
#include "sublet/base/back_off.h"
#include "sublet/base/clock.h"
#include "sublet/base/log.h"
#include "sublet/base/mutex.h"
#include "sublet/kube/json_scan.h"
#include "sublet/schema/utf8.h"

namespace sublet::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kPageSize = 500;
constexpr milliseconds kRelistBackoffMin{100};
constexpr milliseconds kRelistBackoffMax{10'000};
constexpr milliseconds kListTimeout{60'000};
constexpr seconds kWatchTimeoutMin{300};   // the server is asked to end a watch after one to two times this
constexpr seconds kWatchTimeoutGrace{30};  // and when it has not by then, the connection is dead
constexpr seconds kStableWatch{1};         // a watch that lived this long, or brought an event, resets the back-off
constexpr int kResumesBeforeRelist = 4;

// What arrives from the transport. `generation` names the exchange: late messages of an abandoned one are dropped.
struct PageArrived {
  Result<std::string> body;
};
struct EventArrived {
  WatchEventType type;
  std::string object;
};
struct WatchEnded {
  Outcome outcome;
};
struct Message {
  std::uint64_t generation;
  std::variant<PageArrived, EventArrived, WatchEnded> what;
};
using Post = std::function<void(Message)>;

/// Collects a list page.
class PageObserver final : public net::ResponseObserver {
 public:
  PageObserver(std::uint64_t generation, Post post) : generation_(generation), post_(std::move(post)) {}
  void on_head(int code, const net::Headers& headers) override {
    code_ = code;
    headers_ = headers;
  }
  void on_body(std::string_view chunk) override { body_.append(chunk); }
  void on_end(Outcome outcome) override {
    Result<std::string> page;
    if (!outcome) {
      page = fail(outcome.error());
    } else if (!is_success(code_)) {
      page = fail(status_from_answer(code_, headers_, body_));
    } else {
      page = std::move(body_);
    }
    post_({generation_, PageArrived{std::move(page)}});
  }

 private:
  const std::uint64_t generation_;
  const Post post_;
  int code_ = 0;
  net::Headers headers_;
  std::string body_;
};

class EventObserver final : public WatchObserver {
 public:
  EventObserver(std::uint64_t generation, Post post) : generation_(generation), post_(std::move(post)) {}
  void on_event(WatchEventType type, std::string_view object) override {
    post_({generation_, EventArrived{type, std::string(object)}});
  }
  void on_end(Outcome outcome) override { post_({generation_, WatchEnded{std::move(outcome)}}); }

 private:
  const std::uint64_t generation_;
  const Post post_;
};

/// Who wrote which field is told to nobody that keeps copies, and is a third of a pod.
void leave_out_managed_fields(std::string& json) {
  constexpr std::string_view kMember = "\"managedFields\"";
  const auto value = json_member(json_member(json, "metadata").value_or(""), kMember.substr(1, kMember.size() - 2));
  if (!value) return;
  const auto at = static_cast<std::size_t>(value->data() - json.data());
  std::size_t begin = json.rfind(kMember, at);
  if (begin == std::string::npos) return;
  // With the comma behind it, or if it is the last with the one before.
  constexpr std::string_view kSpace = " \t\r\n";
  std::size_t end = at + value->size();
  if (const auto behind = json.find_first_not_of(kSpace, end); behind != std::string::npos && json[behind] == ',')
    end = behind + 1;
  else if (const auto before = json.find_last_not_of(kSpace, begin - 1); json[before] == ',')
    begin = before;
  json.erase(begin, end - begin);
}

CachedPtr to_cached(std::string json, const InformerOptions& options, TextBlocks& blocks) {
  if (!schema::is_utf8(json)) return nullptr;  // what is copied from it could not be said to anybody
  leave_out_managed_fields(json);
  if (options.trim) options.trim(json);
  auto meta = read_object_meta(json);
  if (!meta || meta->name.empty()) return nullptr;
  auto out = std::make_shared<CachedObject>();
  out->namespace_name = std::move(meta->namespace_name);
  out->name = std::move(meta->name);
  out->uid = std::move(meta->uid);
  out->resource_version = std::move(meta->resource_version);
  KeptText text = options.passing ? blocks.keep(json) : keep_alone(json);
  out->json = text.text;
  out->keeper = std::move(text.keeper);
  return out;
}

Status failure(Reason reason, std::string message) { return fail(reason, std::move(message)).value(); }

/// The server itself refuses this watch, and not for being busy: asking again at the same revision may never help.
bool refused(const Status& status) {
  const int code = status.code;  // 0: no answer came
  return code >= 400 && code <= 500 && code != 429;
}

/// The revision is gone, or lies in the server's future (its data was restored): only a new list helps.
bool needs_relist(const Status& status) {
  return status.is(Reason::expired) || status.is(Reason::gone) || status.http_code() == 410 ||
         std::ranges::any_of(status.causes, [](const Cause& c) { return c.reason == "ResourceVersionTooLarge"; });
}

milliseconds full_jitter(int failures, Random& random) {
  return up_to(doubled(kRelistBackoffMin, kRelistBackoffMax, failures), random);
}

}  // namespace

schema::Document CachedObject::document() const {
  auto parsed = schema::Document::parse_json(json);
  return parsed ? std::move(*parsed) : schema::Document();
}

std::string_view CachedObject::raw(std::initializer_list<std::string_view> path) const {
  std::string_view at = json;
  for (const std::string_view key : path) at = json_member(at, key).value_or("");
  return at;
}

std::string CachedObject::text(std::initializer_list<std::string_view> path) const { return json_unquote(raw(path)); }

struct Informer::Impl : std::enable_shared_from_this<Informer::Impl> {
  Impl(Strand& s, const Client& c, InformerOptions o) : strand(s), client(c), options(std::move(o)) {}

  // --- from any thread ---
  void post(Message message);
  void stop();

  // --- on the strand ---
  /// Runs one step, which says SUBLET_REQUIRES(turn), unless stopped.
  void take_turn(const std::function<void()>& step);

  // --- the steps, under `turn` ---
  void work_off_inbox() SUBLET_REQUIRES(turn);
  void begin_list() SUBLET_REQUIRES(turn);
  void request_page() SUBLET_REQUIRES(turn);
  void page_arrived(Result<std::string> body) SUBLET_REQUIRES(turn);
  void add_page(std::string_view body) SUBLET_REQUIRES(turn);
  void apply_list() SUBLET_REQUIRES(turn);
  void begin_watch() SUBLET_REQUIRES(turn);
  void event_arrived(WatchEventType type, std::string object) SUBLET_REQUIRES(turn);
  void watch_ended(const Outcome& outcome) SUBLET_REQUIRES(turn);
  void recover(const Status& status, bool relist) SUBLET_REQUIRES(turn);
  void later(milliseconds delay, void (Impl::*step)()) SUBLET_REQUIRES(turn);
  void upsert(const CachedPtr& object) SUBLET_REQUIRES(turn);
  void remove(const CachedPtr& last_state) SUBLET_REQUIRES(turn);
  void notify(const CachedPtr& before, const CachedPtr& after) SUBLET_REQUIRES(turn);
  void note_success(WallTime InformerActivity::*what);
  Post poster();

  Strand& strand;
  const Client client;
  const InformerOptions options;
  std::vector<InformerHandler> handlers;
  std::function<void()> relisted;
  std::function<void(const CachedObject&)> told_deleted;
  ObjectCache cache;
  TextBlocks blocks SUBLET_GUARDED_BY(turn);

  Mutex turn;  // held while the machine moves and handlers run
  bool stopped SUBLET_GUARDED_BY(turn) = false;
  std::uint64_t generation SUBLET_GUARDED_BY(turn) = 0;
  std::unique_ptr<net::Exchange> exchange SUBLET_GUARDED_BY(turn);
  Strand::TimerId timer SUBLET_GUARDED_BY(turn) = 0;
  std::string resource_version SUBLET_GUARDED_BY(turn), continue_token SUBLET_GUARDED_BY(turn);
  std::vector<CachedPtr> listed SUBLET_GUARDED_BY(turn);  // pages so far
  int failures SUBLET_GUARDED_BY(turn) = 0;
  bool watch_was_fruitful SUBLET_GUARDED_BY(turn) = false;
  SteadyTime watch_started SUBLET_GUARDED_BY(turn);

  Mutex inbox_mutex;
  std::vector<Message> inbox SUBLET_GUARDED_BY(inbox_mutex);
  bool wake_pending SUBLET_GUARDED_BY(inbox_mutex) = false;

  mutable Mutex synced_mutex;
  mutable CondVar synced_changed;
  bool synced SUBLET_GUARDED_BY(synced_mutex) = false;
  std::atomic<std::size_t> lists{0}, events{0};

  mutable Mutex activity_mutex;
  InformerActivity activity SUBLET_GUARDED_BY(activity_mutex);
};

void Informer::Impl::post(Message message) {
  {
    const MutexLock lock(inbox_mutex);
    inbox.push_back(std::move(message));
    if (std::exchange(wake_pending, true)) return;
  }
  strand.post([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->take_turn([&]() SUBLET_REQUIRES(self->turn) { self->work_off_inbox(); });
  });
}

Post Informer::Impl::poster() {
  return [weak = weak_from_this()](Message message) {
    if (const auto self = weak.lock()) self->post(std::move(message));
  };
}

void Informer::Impl::take_turn(const std::function<void()>& step) {
  const MutexLock lock(turn);
  if (!stopped) step();
}

void Informer::Impl::stop() {
  std::unique_ptr<net::Exchange> running;
  {
    const MutexLock lock(turn);
    stopped = true;
    strand.cancel(timer);
    running = std::move(exchange);
  }
  running.reset();  // outside the lock: it may wait for an observer call on another thread
}

void Informer::Impl::work_off_inbox() {
  std::vector<Message> messages;
  {
    const MutexLock lock(inbox_mutex);
    wake_pending = false;
    messages.swap(inbox);
  }
  for (Message& message : messages) {
    if (message.generation != generation) continue;
    if (auto* event = std::get_if<EventArrived>(&message.what)) {
      event_arrived(event->type, std::move(event->object));
    } else if (auto* page = std::get_if<PageArrived>(&message.what)) {
      page_arrived(std::move(page->body));
    } else {
      watch_ended(std::get<WatchEnded>(message.what).outcome);
    }
  }
}

void Informer::Impl::begin_list() {
  listed.clear();
  continue_token.clear();
  request_page();
}

void Informer::Impl::request_page() {
  ListOptions list;
  list.label_selector = options.label_selector;
  list.field_selector = options.field_selector;
  list.limit = kPageSize;
  list.continue_token = continue_token;
  exchange.reset();
  exchange = client.transport().start(client.list_request(options.resource, options.namespace_name, list),
                                      std::make_shared<PageObserver>(++generation, poster()), kListTimeout);
}

void Informer::Impl::page_arrived(Result<std::string> body) {
  exchange.reset();
  if (!body) return recover(body.error(), true);
  const std::string asked = continue_token;
  add_page(*body);
  if (!continue_token.empty() && continue_token == asked)  // it would be asked for the same page for ever
    return recover(failure(Reason::internal_error, "the list goes on with the page that it has just given"), true);
  if (!continue_token.empty()) return request_page();
  if (resource_version.empty())
    return recover(failure(Reason::internal_error, "the list has no resourceVersion"), true);
  apply_list();
  begin_watch();
}

void Informer::Impl::add_page(std::string_view body) {
  resource_version.clear();
  continue_token.clear();
  JsonScanner scanner(body);
  std::string_view key, value;
  while (scanner.next(key, value)) {
    if (key == "metadata") {
      resource_version = json_unquote(json_member(value, "resourceVersion").value_or(""));
      continue_token = json_unquote(json_member(value, "continue").value_or(""));
    } else if (key == "items") {
      JsonScanner items(value);
      std::string_view none, item;
      while (items.next(none, item))
        if (CachedPtr object = to_cached(std::string(item), options, blocks)) listed.push_back(std::move(object));
    }
  }
}

void Informer::Impl::note_success(WallTime InformerActivity::*what) {
  const MutexLock lock(activity_mutex);
  activity.*what = options.clock->now();
  activity.failure.clear();
}

void Informer::Impl::apply_list() {
  ++lists;
  note_success(&InformerActivity::listed);
  std::unordered_set<std::string> present;
  for (const CachedPtr& object : listed) present.insert(object->namespace_name + "/" + object->name);
  for (const CachedPtr& object : cache.list())
    if (!present.contains(object->namespace_name + "/" + object->name)) remove(object);
  cache.keep_traces_of(listed);
  for (const CachedPtr& object : listed) upsert(object);
  listed = {};
  if (lists > 1 && relisted) relisted();
  const MutexLock lock(synced_mutex);
  synced = true;
  synced_changed.notify_all();
}

void Informer::Impl::begin_watch() {
  WatchOptions watch;
  watch.label_selector = options.label_selector;
  watch.field_selector = options.field_selector;
  watch.resource_version = resource_version;
  watch.timeout = kWatchTimeoutMin + seconds(options.random->next() % kWatchTimeoutMin.count());
  watch_was_fruitful = false;
  watch_started = options.clock->steady_now();
  exchange.reset();
  exchange = client.watch(options.resource, options.namespace_name, watch,
                          std::make_shared<EventObserver>(++generation, poster()));
  strand.cancel(timer);
  timer = strand.after(watch.timeout + kWatchTimeoutGrace, [weak = weak_from_this(), started = generation] {
    const auto self = weak.lock();
    if (!self) return;
    self->take_turn([&]() SUBLET_REQUIRES(self->turn) {
      if (self->generation == started)
        self->watch_ended(fail(Reason::timeout, "the watch was not ended by the server in time"));
    });
  });
}

void Informer::Impl::event_arrived(WatchEventType type, std::string object) {
  if (type == WatchEventType::error) {
    const auto status = schema::Document::parse_json(object);
    return watch_ended(fail(status ? status_from_document(status->root(), 0)
                                   : failure(Reason::internal_error, "unreadable watch error")));
  }
  watch_was_fruitful = true;
  note_success(&InformerActivity::watched);
  if (type == WatchEventType::bookmark) {
    if (const auto meta = read_object_meta(object); meta && !meta->resource_version.empty())
      resource_version = meta->resource_version;
    return;
  }
  ++events;
  const CachedPtr cached = to_cached(std::move(object), options, blocks);
  if (!cached) return log::error("informer.event_without_name", {{"resource", options.resource.resource}});
  if (!cached->resource_version.empty()) resource_version = cached->resource_version;
  if (type != WatchEventType::deleted) return upsert(cached);
  if (told_deleted) told_deleted(*cached);
  remove(cached);
}

void Informer::Impl::watch_ended(const Outcome& outcome) {
  exchange.reset();
  ++generation;  // nothing more of this watch counts
  const bool stable = watch_was_fruitful || options.clock->steady_now() - watch_started >= kStableWatch;
  if (stable) failures = 0;
  if (!outcome) {
    recover(outcome.error(), needs_relist(outcome.error()));
  } else if (stable) {
    begin_watch();
  } else {  // a server that ends watches at once must not be asked in a tight circle, nor at the same revision for ever
    recover(failure(Reason::service_unavailable, "the watch ended at once"), failures >= kResumesBeforeRelist);
  }
}

void Informer::Impl::recover(const Status& status, bool relist) {
  const bool expired = needs_relist(status);
  relist = relist || (failures >= kResumesBeforeRelist && refused(status));
  milliseconds delay = expired && failures == 0 ? milliseconds(0) : full_jitter(failures, *options.random);
  delay = std::max<milliseconds>(delay, seconds(status.retry_after_seconds));
  ++failures;
  if (!expired) {
    const MutexLock lock(activity_mutex);
    activity.failure = status.message;
  }
  // A server that stays away would fill the log: the first failure is logged, then the 2nd, 4th, 8th ...
  if (!expired && std::has_single_bit(static_cast<unsigned>(failures)))
    log::warning("informer.retry", {{"resource", options.resource.resource},
                                    {"error", status.message},
                                    {"failures", failures},
                                    {"delay_ms", delay.count()}});
  later(delay, relist ? &Impl::begin_list : &Impl::begin_watch);
}

void Informer::Impl::later(milliseconds delay, void (Impl::*step)()) {
  strand.cancel(timer);
  timer = 0;
  if (delay.count() == 0) return (this->*step)();
  timer = strand.after(delay, [weak = weak_from_this(), step] {
    if (const auto self = weak.lock()) self->take_turn([&]() SUBLET_REQUIRES(self->turn) { ((*self).*step)(); });
  });
}

void Informer::Impl::upsert(const CachedPtr& object) {
  CachedPtr before = cache.get(object->namespace_name, object->name);
  if (before ? before->uid == object->uid && before->resource_version == object->resource_version
             : cache.was_let_go(*object))
    return;
  if (before && before->uid != object->uid) {  // deleted and made again while nobody looked
    remove(before);
    before = nullptr;
  }
  cache.put(object);
  notify(before, object);
}

void Informer::Impl::remove(const CachedPtr& last_state) {
  if (cache.erase(last_state->namespace_name, last_state->name)) notify(last_state, nullptr);
}

void Informer::Impl::notify(const CachedPtr& before, const CachedPtr& after) {
  for (const InformerHandler& handler : handlers) handler(before, after);
}

Informer::Informer(Strand& strand, const Client& client, InformerOptions options)
    : impl_(std::make_shared<Impl>(strand, client, std::move(options))) {}

Informer::~Informer() { stop(); }

void Informer::stop() { impl_->stop(); }

void Informer::on_deleted(std::function<void(const CachedObject&)> deleted) {
  impl_->told_deleted = std::move(deleted);
}

void Informer::add_handler(InformerHandler handler) { impl_->handlers.push_back(std::move(handler)); }
void Informer::on_relist(std::function<void()> relisted) { impl_->relisted = std::move(relisted); }

void Informer::add_index(std::string name, std::function<std::vector<std::string>(const CachedObject&)> keys_of) {
  impl_->cache.add_index(std::move(name), std::move(keys_of));
}

void Informer::start() {
  impl_->strand.post([weak = impl_->weak_from_this()] {
    if (const auto self = weak.lock()) self->take_turn([&]() SUBLET_REQUIRES(self->turn) { self->begin_list(); });
  });
}

bool Informer::synced() const {
  const MutexLock lock(impl_->synced_mutex);
  return impl_->synced;
}

bool Informer::wait_synced(milliseconds timeout) const {
  MutexLock lock(impl_->synced_mutex);
  return impl_->synced_changed.wait_for(lock, timeout,
                                        [&]() SUBLET_REQUIRES(impl_->synced_mutex) { return impl_->synced; });
}

CachedPtr Informer::get(std::string_view namespace_name, std::string_view name) const {
  return impl_->cache.get(namespace_name, name);
}
std::vector<CachedPtr> Informer::list() const { return impl_->cache.list(); }
std::vector<CachedPtr> Informer::by_index(std::string_view index, std::string_view key) const {
  return impl_->cache.by_index(index, key);
}
void Informer::let_go(const CachedPtr& object) { impl_->cache.let_go(object); }

void Informer::keep(const CachedPtr& object) {
  if (!impl_->options.passing) return;
  const auto alone = std::make_shared<CachedObject>(*object);
  KeptText text = keep_alone(object->json);
  alone->json = text.text;
  alone->keeper = std::move(text.keeper);
  impl_->cache.exchange(object, alone);
}

const InformerOptions& Informer::options() const { return impl_->options; }

Result<bool> Informer::up_to_date() const {
  ListOptions all;
  all.label_selector = impl_->options.label_selector;
  all.field_selector = impl_->options.field_selector;
  const auto list = impl_->client.list(impl_->options.resource, impl_->options.namespace_name, all);
  if (!list) return fail(list.error());
  const MutexLock lock(impl_->turn);  // no handler is in the middle of an event
  const schema::Value items = (*list)["items"];
  if (items.size() != impl_->cache.list().size() + impl_->cache.let_go_count()) return false;
  for (const schema::Value item : items) {
    const schema::Value meta = item["metadata"];
    const CachedPtr copy = impl_->cache.get(meta["namespace"].text(), meta["name"].text());
    CachedObject now;
    now.namespace_name = meta["namespace"].string();
    now.name = meta["name"].string();
    now.uid = meta["uid"].string();
    now.resource_version = meta["resourceVersion"].string();
    if (copy ? copy->resource_version != now.resource_version : !impl_->cache.was_let_go(now)) return false;
  }
  return true;
}

InformerActivity Informer::activity() const {
  const MutexLock lock(impl_->activity_mutex);
  return impl_->activity;
}

std::size_t Informer::lists() const { return impl_->lists; }
std::size_t Informer::events() const { return impl_->events; }

}  // namespace sublet::kube
