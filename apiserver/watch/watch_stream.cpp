#include "apiserver/watch/watch_stream.h"

#include <algorithm>
#include <iterator>

#include "apiserver/authz/request_attributes.h"
#include "apiserver/authz/standing_rights.h"
#include "apiserver/codec/object_bytes.h"
#include "apiserver/conversion/conversion.h"
#include "apiserver/discovery/custom_schema.h"
#include "sublet/base/metrics.h"

namespace sublet::apiserver {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t kCatchUpStep = 512;  // events looked at per turn of a stream that is behind
constexpr std::size_t kInitialStep = 256;  // objects looked at per turn
constexpr seconds kBookmarkEvery{60};
constexpr std::size_t kPrepareBytes = 256 * 1024;  // of objects that are converted ahead, about

constexpr std::string_view kEventTypes[] = {"ADDED", "MODIFIED", "DELETED", "DELETED"};  // by Variant

std::uint32_t form_key(const Output& output, unsigned variant) {
  return static_cast<std::uint32_t>(output.media) | static_cast<std::uint32_t>(output.form) << 4 |
         static_cast<std::uint32_t>(output.row_object) << 8 | static_cast<std::uint32_t>(output.meta_v1beta1) << 12 |
         variant << 16;
}

// An object that left the selection: its last matching state, at the revision of the change.
store::Object stamped(const store::Object& object, store::Revision revision) {
  store::Object copy = object;
  copy.revision = revision;
  return copy;
}

}  // namespace

void WatchStream::start(const RequestContext& context) {
  sink_->start(200, context.headers(writer_.stream_content_type()));
  prefix_ = key_prefix(context.storage(), context.info.namespace_name);
  prefix_.shrink_to_fit();
  cursor_ = request_.revision;
  if (cursor_ == 0 || request_.initial_events) {
    store::Snapshot snapshot = core_->store.snapshot();
    cursor_ = snapshot.revision();
    if (request_.initial_events) initial_ = std::make_unique<Initial>(Initial{std::move(snapshot), {}});
    initial_end_due_ = request_.initial_events_end;
  }
  core_->watches.add(shared_from_this(), prefix_);
  core_->standing_rights.add(attributes_of(context), weak_from_this(),
                             [weak = weak_from_this()](const Status& forbidden) {
                               if (const auto stream = weak.lock()) stream->revoke(forbidden);
                             });
}

/// The first turn.
void WatchStream::begin() {
  begun_ = true;
  sink_->on_close([weak = weak_from_this()] {
    const auto stream = weak.lock();
    if (!stream) return;
    stream->peer_gone_ = true;
    stream->wake();
  });
  const auto now = core_->clock.steady_now();
  deadline_ = now + request_.timeout;
  next_bookmark_ = now + kBookmarkEvery;
  arm_timer();
  if (kind_has_changed()) last_ = core_->store.snapshot().revision();  // after the hub was asked to end such watches
}

/// Whether the kind is another one by now than when the request came.
bool WatchStream::kind_has_changed() const {
  const schema::ResourceFacts& served = *writer_.route().served;
  if (!served.custom) return false;
  const auto now = core_->kinds.get();
  if (now == kinds_) return false;
  const auto* facts = now->find_resource(served.group, served.version, served.resource);
  if (!facts || !facts->served) return true;
  const auto *before = kinds_->entry<CustomSchema>(served), *after = now->entry<CustomSchema>(*facts);
  return before && after && before->fingerprint() != after->fingerprint();
}

void WatchStream::wake() { core_->watches.wake(shared_from_this()); }

// One timer for both purposes: the next bookmark or the end.
void WatchStream::arm_timer() {
  const auto now = core_->clock.steady_now();
  const auto next = request_.bookmarks ? std::min(deadline_, next_bookmark_) : deadline_;
  const auto delay = std::max(std::chrono::ceil<milliseconds>(next - now), milliseconds(0));
  timer_ = core_->loop.after(delay, [weak = weak_from_this()] {
    const auto stream = weak.lock();
    if (!stream) return;
    stream->timer_due_ = true;
    stream->wake();  // behind the news that are on their way
  });
}

/// When false, a drain will wake the stream.
bool WatchStream::peer_keeps_up() {
  if (sink_->wants_more()) return true;
  waits_ = true;
  sink_->on_drain([weak = weak_from_this()] {
    if (const auto stream = weak.lock(); stream && stream->waits_.exchange(false)) stream->wake();
  });
  return sink_->wants_more() && waits_.exchange(false);  // it may have drained just before
}

void WatchStream::run(FrameCache& frames) {
  if (done_) return;
  if (!begun_) begin();
  if (peer_gone_ || core_->stopping) return finish();
  if (initial_) write_initial();
  if (!initial_ && !live_ && !done_) catch_up(frames);
  if (!done_ && std::exchange(timer_due_, false)) on_timer();
}

void WatchStream::on_timer() {
  const auto now = core_->clock.steady_now();
  const bool over = now >= deadline_;
  if (over || now >= next_bookmark_) {
    if (request_.bookmarks && !initial_ && peer_keeps_up()) write_bookmark(false);
    next_bookmark_ = now + kBookmarkEvery;
  }
  if (over) return finish();
  arm_timer();
}

/// False: workers have them converted, and that wakes the stream.
bool WatchStream::at_hand(std::vector<store::ObjectPtr> objects) {
  const WebhookConversion* outside = webhook_conversion_of(writer_.route());
  if (!outside || std::ranges::all_of(objects, [&](const auto& object) { return outside->at_hand(*object); }))
    return true;
  prepare(std::move(objects));
  return false;
}

void WatchStream::prepare(std::vector<store::ObjectPtr> objects) {
  if (std::exchange(preparing_, true)) return;
  const bool taken = core_->conversions.workers.submit([self = shared_from_this(), objects = std::move(objects)] {
    const MayWait here;
    std::vector<const store::Object*> each;
    for (const auto& object : objects) each.push_back(object.get());
    auto prepared = webhook_conversion_of(self->writer_.route())->prepare(each);
    self->core_->loop.post([self, prepared = std::move(prepared)] { self->take_prepared(prepared); });
  });
  if (!taken) take_prepared(fail(Reason::too_many_requests, "too many requests, please try again later"));
}

void WatchStream::take_prepared(Result<std::shared_ptr<const void>> prepared) {
  preparing_ = false;
  if (done_) return;
  if (!prepared) return expire(std::move(prepared.error()));
  prepared_ = std::move(*prepared);
  wake();
}

void WatchStream::write_initial() {
  if (preparing_ || !peer_keeps_up()) return;
  std::vector<store::ObjectPtr> step;
  initial_->snapshot.scan(prefix_, initial_->key, [&step](const store::ObjectPtr& object) {
    step.push_back(object);
    return step.size() < kInitialStep;
  });
  const WallTime now = core_->clock.now();
  std::string frames;  // one write for the whole step
  if (std::vector<store::ObjectPtr> wanted; webhook_conversion_of(writer_.route())) {
    const auto selected = [this](const store::ObjectPtr& object) { return filter_.may_match(*object); };
    std::ranges::copy_if(step, std::back_inserter(wanted), selected);
    if (!at_hand(std::move(wanted))) return;
  }
  for (const auto& object : step) {
    const auto matches = filter_.matches(*object);
    if (!matches) return expire(matches.error());
    if (!*matches) continue;
    if (auto frame = writer_.frame("ADDED", *object, !wrote_columns_, now)) {
      frames += *frame;
      wrote_columns_ = true;
    }
  }
  if (!frames.empty()) sink_->write(std::make_shared<const std::string>(std::move(frames)));
  if (step.size() == kInitialStep) {
    initial_->key = step.back()->key;
    return wake();
  }
  initial_.reset();
  if (std::exchange(initial_end_due_, false)) write_bookmark(true);
}

/// A step towards the end of the history; then others have their turn.
void WatchStream::catch_up(FrameCache& frames) {
  if (preparing_ || !peer_keeps_up()) return;
  auto changes = core_->store.changes(prefix_, cursor_, kCatchUpStep);
  if (!changes) return expire(std::move(changes.error()));
  if (!write_events(changes->events, frames)) return;
  cursor_ = changes->up_to;
  if (last_ != 0 && cursor_ >= last_) return finish();
  if (!changes->at_end) return wake();
  set_live(true);
}

void WatchStream::deliver(const std::vector<store::EventPtr>& events, store::Revision from, store::Revision up_to,
                          FrameCache& frames) {
  if (!live_) return;
  cursor_ = std::max(cursor_, from);
  if (write_events(events, frames))
    cursor_ = std::max(cursor_, up_to);
  else
    set_live(false);
}

void WatchStream::fall_behind() {
  if (!live_) return;
  cursor_ = std::max(cursor_, core_->watches.delivered());
  set_live(false);
}

void WatchStream::set_live(bool live) {
  if (live == live_) return;
  live_ = live;
  live ? core_->watches.went_live(cursor_) : core_->watches.left_live();
}

/// What of an event must be at hand before it is matched and sent. Whether a state of an object has this revision or an
/// earlier one (stamped()) is the same to who converts it.
std::vector<store::ObjectPtr> WatchStream::reads_of(const store::EventPtr& event) const {
  const auto may_match = [this](const store::ObjectPtr& object) { return object && filter_.may_match(*object); };
  const bool deleted = event->type == store::Event::Type::deleted, before = may_match(event->previous);
  const bool shows_object = deleted ? before : may_match(event->object);
  std::vector<store::ObjectPtr> read;
  if (shows_object) read.push_back(event->object);
  if (before && (filter_.reads_objects() || !shows_object)) read.push_back(event->previous);
  return read;
}

/// False: it, and some of those behind it, are being converted.
bool WatchStream::is_at_hand(const std::vector<store::EventPtr>& events, std::size_t at) {
  const WebhookConversion* outside = webhook_conversion_of(writer_.route());
  if (!outside) return true;
  if (std::ranges::all_of(reads_of(events[at]), [&](const auto& object) { return outside->at_hand(*object); }))
    return true;
  std::vector<store::ObjectPtr> wanted;
  for (std::size_t bytes = 0; at < events.size() && bytes < kPrepareBytes; ++at) {
    for (auto& object : reads_of(events[at])) {
      bytes += object->bytes.size();
      wanted.push_back(std::move(object));
    }
  }
  prepare(std::move(wanted));
  return false;
}

/// False when the peer fell behind, or what comes is not at hand; then `cursor_` is at the last event that it will get.
bool WatchStream::write_events(const std::vector<store::EventPtr>& events, FrameCache& frames) {
  for (std::size_t at = 0; at < events.size(); ++at) {
    if (events[at]->revision <= cursor_) continue;
    if (!peer_keeps_up() || !is_at_hand(events, at)) return false;
    write_event(frames, events[at]);
    if (done_) return false;
    cursor_ = events[at]->revision;
  }
  prepared_.reset();
  return true;
}

/// None: the event is nothing to who watches.
Result<std::optional<WatchStream::Variant>> WatchStream::variant_of(const store::Event& event) const {
  using Type = store::Event::Type;
  const auto matches = [this](const store::ObjectPtr& object) -> Result<bool> {
    if (!object || filter_.everything()) return object != nullptr;
    return filter_.matches(*object);
  };
  const auto before = matches(event.previous);
  if (!before) return fail(before.error());
  if (event.type == Type::deleted) return *before ? std::optional(Variant::deleted) : std::nullopt;
  const auto after = matches(event.object);
  if (!after) return fail(after.error());
  if (*after) return *before ? Variant::modified : Variant::added;
  return *before ? std::optional(Variant::deleted_previous) : std::nullopt;
}

FrameCache::Frame WatchStream::frame_of(FrameCache& frames, const store::EventPtr& event, Variant variant) {
  const bool with_columns = writer_.output().form == Form::table && !wrote_columns_;
  const FrameCache::Key key{event.get(), &writer_.route(),
                            form_key(writer_.output(), static_cast<unsigned>(variant) * 2u + (with_columns ? 1u : 0u))};
  if (auto cached = frames.find(key)) return cached;
  static auto& encoded =
      metrics::counter("sublet_watch_frames_encoded_total", "Watch frames encoded, each once for all watchers.");
  encoded.add();
  const WallTime now = core_->clock.now();
  const auto type = kEventTypes[static_cast<std::size_t>(variant)];
  auto text = variant == Variant::deleted_previous
                  ? writer_.frame(type, stamped(*event->previous, event->revision), with_columns, now)
                  : writer_.frame(type, *event->object, with_columns, now);
  if (!text) return nullptr;
  auto frame = std::make_shared<const std::string>(std::move(*text));
  frames.keep(key, event, kinds_, frame);
  return frame;
}

void WatchStream::write_event(FrameCache& frames, const store::EventPtr& event) {
  const auto variant = variant_of(*event);
  if (!variant) return expire(variant.error());
  if (!*variant) return;
  auto frame = frame_of(frames, event, **variant);
  if (!frame) return;
  wrote_columns_ = true;
  sink_->write(std::move(frame));
}

void WatchStream::write_bookmark(bool initial_end) {
  const auto up_to = live_ ? std::max(cursor_, core_->watches.delivered()) : cursor_;
  sink_->write(std::make_shared<const std::string>(writer_.bookmark(up_to, initial_end)));
}

void WatchStream::expire(Status status) {
  if (status.is(Reason::expired))
    status.message =
        "too old resource version: " + std::to_string(cursor_) + " (" + std::to_string(core_->store.compacted()) + ")";
  sink_->write(std::make_shared<const std::string>(writer_.error_frame(status)));
  finish();
}

void WatchStream::revoke(const Status& forbidden) {
  if (!done_) expire(forbidden);
}

// A live stream does not read what the hub has sent; catch_up() reads the rest, and the end.
void WatchStream::finish_after(store::Revision last) {
  last_ = last;
  fall_behind();
  wake();
}

void WatchStream::finish() {
  if (std::exchange(done_, true)) return;
  set_live(false);
  core_->loop.cancel(timer_);
  initial_.reset();
  sink_->end();
  core_->watches.remove(this, prefix_);
}

}  // namespace sublet::apiserver
