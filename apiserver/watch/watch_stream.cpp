#include "apiserver/watch/watch_stream.h"

#include "apiserver/codec/object_bytes.h"
#include "sublet/base/metrics.h"

namespace sublet::apiserver {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t kBacklogHigh = 256 * 1024;  // no more frames until the peer took what it has
constexpr std::size_t kQueueMax = 20'000;         // events waiting for a peer that does not keep up
constexpr std::size_t kInitialStep = 256;         // objects looked at between two checks of the backlog
constexpr seconds kBookmarkEvery{60};

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
  const auto self = shared_from_this();
  sink_->start(200, context.headers(writer_.stream_content_type()));
  const std::string prefix = key_prefix(context.storage(), context.info.namespace_name);
  if (auto subscribed = subscribe(prefix); !subscribed) {
    sink_->write(std::make_shared<const std::string>(writer_.error_frame(subscribed.error())));
    sink_->end();
    return;
  }
  core_->watches.add(self);
  sink_->on_close([weak = weak_from_this()] {
    if (const auto stream = weak.lock()) {
      stream->peer_gone_ = true;
      stream->wake();
    }
  });
  sink_->on_drain([weak = weak_from_this()] {
    if (const auto stream = weak.lock()) stream->wake();
  });
  const auto now = core_->clock.steady_now();
  {
    const std::lock_guard lock(run_mutex_);
    deadline_ = now + request_.timeout;
    next_bookmark_ = now + kBookmarkEvery;
    arm_timer();
  }
  wake();
  if (core_->stopping) finish();
}

Outcome WatchStream::subscribe(const std::string& prefix) {
  const std::lock_guard lock(run_mutex_);
  auto& store = core_->store;
  if (request_.revision > 0 && !request_.initial_events) {
    auto subscription = store.watch(prefix, request_.revision, shared_from_this());
    if (!subscription) {
      Status status = subscription.error();
      if (status.is(Reason::expired))
        status.message = "too old resource version: " + std::to_string(request_.revision) + " (" +
                         std::to_string(store.compacted()) + ")";
      return fail(std::move(status));
    }
    subscription_ = std::move(*subscription);
    sent_ = request_.revision;
    return {};
  }
  auto [snapshot, subscription] = store.snapshot_and_watch(prefix, shared_from_this());
  subscription_ = std::move(subscription);
  sent_ = snapshot.revision();
  if (request_.initial_events) initial_ = std::make_unique<Initial>(Initial{std::move(snapshot), prefix, {}});
  initial_end_due_ = request_.initial_events_end;
  return {};
}

void WatchStream::on_events(const std::vector<store::EventPtr>& events) {
  bool wake_up;
  {
    const std::lock_guard lock(queue_mutex_);
    if (queue_.size() + events.size() > kQueueMax) {
      overflowed_ = true;
      queue_.clear();
    }
    if (!overflowed_) queue_.insert(queue_.end(), events.begin(), events.end());
    wake_up = !woken_;
    woken_ = true;
  }
  if (wake_up) core_->watches.wake(shared_from_this());
}

void WatchStream::on_progress(store::Revision revision) {
  const std::lock_guard lock(queue_mutex_);
  progress_ = revision;
}

void WatchStream::wake() {
  {
    const std::lock_guard lock(queue_mutex_);
    if (woken_) return;
    woken_ = true;
  }
  core_->watches.wake(shared_from_this());
}

// One timer for both purposes: the next bookmark or the end.
void WatchStream::arm_timer() {
  const auto now = core_->clock.steady_now();
  const auto next = request_.bookmarks ? std::min(deadline_, next_bookmark_) : deadline_;
  const auto delay = std::max(std::chrono::ceil<milliseconds>(next - now), milliseconds(0));
  timer_ = core_->loop.after(delay, [weak = weak_from_this()] {
    if (const auto stream = weak.lock()) {
      stream->timer_due_ = true;
      stream->wake();
    }
  });
}

bool WatchStream::peer_keeps_up() const { return sink_->backlog() < kBacklogHigh; }

// Moves the queue over; false when the peer fell too far behind.
bool WatchStream::take_queue() {
  const std::lock_guard lock(queue_mutex_);
  woken_ = false;
  if (overflowed_ || ready_.size() + queue_.size() > kQueueMax) return false;
  if (ready_.empty())
    ready_.swap(queue_);
  else
    ready_.insert(ready_.end(), queue_.begin(), queue_.end());
  std::vector<store::EventPtr>().swap(queue_);
  if (ready_.empty() && !initial_) sent_ = std::max(sent_, progress_);
  return true;
}

void WatchStream::run(FrameCache& frames) {
  const std::lock_guard lock(run_mutex_);
  if (done_) return;
  if (peer_gone_ || !take_queue()) return end_locked();
  write_initial();
  if (!initial_) write_ready(frames);
  if (timer_due_.exchange(false)) on_timer();
}

void WatchStream::on_timer() {
  const auto now = core_->clock.steady_now();
  const bool over = now >= deadline_;
  if (request_.bookmarks && !initial_ && ready_.empty() && (over || now >= next_bookmark_)) {
    write_bookmark(false);
    next_bookmark_ = now + kBookmarkEvery;
  } else if (now >= next_bookmark_) {
    next_bookmark_ = now + kBookmarkEvery;
  }
  if (over) return end_locked();
  arm_timer();
}

void WatchStream::write_initial() {
  const WallTime now = core_->clock.now();
  while (initial_ && peer_keeps_up()) {
    std::vector<store::ObjectPtr> step;
    initial_->snapshot.scan(initial_->prefix, initial_->cursor, [&step](const store::ObjectPtr& object) {
      step.push_back(object);
      return step.size() < kInitialStep;
    });
    std::string frames;  // one write for the whole step
    for (const auto& object : step) {
      if (!filter_.matches(*object)) continue;
      if (auto frame = writer_.frame("ADDED", *object, !wrote_columns_, now)) {
        frames += *frame;
        wrote_columns_ = true;
      }
    }
    if (!frames.empty()) sink_->write(std::make_shared<const std::string>(std::move(frames)));
    if (step.size() < kInitialStep)
      initial_.reset();
    else
      initial_->cursor = step.back()->key;
  }
  if (!initial_ && initial_end_due_) {
    initial_end_due_ = false;
    write_bookmark(true);
  }
}

void WatchStream::write_ready(FrameCache& frames) {
  std::size_t written = 0;
  for (; written < ready_.size() && peer_keeps_up(); ++written) {
    write_event(frames, ready_[written]);
    sent_ = ready_[written]->revision;
  }
  if (written == ready_.size())
    std::vector<store::EventPtr>().swap(ready_);
  else
    ready_.erase(ready_.begin(), ready_.begin() + static_cast<std::ptrdiff_t>(written));
}

std::optional<WatchStream::Variant> WatchStream::variant_of(const store::Event& event) const {
  using Type = store::Event::Type;
  const auto matches = [this](const store::ObjectPtr& object) {
    return object && (filter_.everything() || filter_.matches(*object));
  };
  const bool before = matches(event.previous);
  if (event.type == Type::deleted) return before ? std::optional(Variant::deleted) : std::nullopt;
  const bool after = matches(event.object);
  if (after) return before ? Variant::modified : Variant::added;
  return before ? std::optional(Variant::deleted_previous) : std::nullopt;
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
  frames.keep(key, event, frame);
  return frame;
}

void WatchStream::write_event(FrameCache& frames, const store::EventPtr& event) {
  const auto variant = variant_of(*event);
  if (!variant) return;
  if (auto frame = frame_of(frames, event, *variant)) write_frame(std::move(frame));
}

void WatchStream::write_frame(FrameCache::Frame frame) {
  wrote_columns_ = true;
  sink_->write(std::move(frame));
}

void WatchStream::write_bookmark(bool initial_end) {
  sink_->write(std::make_shared<const std::string>(writer_.bookmark(sent_, initial_end)));
}

void WatchStream::finish() {
  const std::lock_guard lock(run_mutex_);
  if (!done_) end_locked();
}

void WatchStream::end_locked() {
  done_ = true;
  core_->loop.cancel(timer_);
  subscription_.reset();
  ready_.clear();
  initial_.reset();
  sink_->end();
  core_->watches.remove(this);
}

}  // namespace sublet::apiserver
