// WatchStream: one running watch: initial state, then events, as frames on the request's sink.
//
// The store delivers on the commit thread into a queue; the hub runs the stream on the loop, where events are filtered
// (with the object before and after, so that a selector's edge shows as ADDED or DELETED), encoded once per event for
// all streams of the same form, and written while the peer keeps up. A peer that does not is let go with a clean end:
// it resumes from its revision, and nobody else waits.
// Lifecycle: start() once; the hub holds the stream until it ends (peer gone, timeout, slow, server stopping).
#pragma once

#include <atomic>
#include <deque>
#include <mutex>

#include "apiserver/codec/object_writer.h"
#include "apiserver/verbs/read_steps.h"
#include "apiserver/watch/watch_hub.h"

namespace sublet::apiserver {

struct WatchRequest {
  store::Revision revision = 0;     // resume after it; 0: begin with the present
  bool initial_events = true;       // with revision 0: what exists comes first as ADDED
  bool initial_events_end = false;  // and a bookmark tells when that is over
  bool bookmarks = false;
  std::chrono::milliseconds timeout{0};
};

class WatchStream final : public WatchSession, public store::Watcher, public std::enable_shared_from_this<WatchStream> {
 public:
  WatchStream(ContextPtr context, WatchRequest request, ObjectFilter filter)
      : context_(std::move(context)),
        request_(request),
        filter_(std::move(filter)),
        writer_(*context_->route, context_->output) {}

  /// Sends the head and subscribes. A revision that cannot be served becomes an ERROR event.
  void start();

  void run(FrameCache& frames) override;
  void finish() override;
  void on_events(const std::vector<store::EventPtr>& events) override;
  void on_progress(store::Revision revision) override;

 private:
  enum class Variant : std::uint8_t { added, modified, deleted, deleted_previous };

  void begin_stream();
  Outcome subscribe();
  void wake();
  void arm_timer();
  void on_timer();
  bool peer_keeps_up() const;
  bool take_queue();
  void write_initial(FrameCache& frames);
  void write_ready(FrameCache& frames);
  void write_event(FrameCache& frames, const store::EventPtr& event);
  std::optional<Variant> variant_of(const store::Event& event) const;
  FrameCache::Frame frame_of(FrameCache& frames, const store::EventPtr& event, Variant variant);
  void write_frame(FrameCache::Frame frame);
  void write_bookmark(bool initial_end);
  void end_locked();

  const ContextPtr context_;
  const WatchRequest request_;
  const ObjectFilter filter_;
  const ObjectWriter writer_;

  std::mutex run_mutex_;  // guards what follows; taken before queue_mutex_
  std::unique_ptr<store::Subscription> subscription_;
  std::optional<store::Snapshot> initial_;  // still to be sent
  std::string initial_cursor_;
  std::deque<store::EventPtr> ready_;
  bool initial_end_due_ = false, wrote_columns_ = false, done_ = false;
  store::Revision sent_ = 0;  // every event up to it was looked at
  SteadyTime deadline_{}, next_bookmark_{};
  net::Loop::TimerId timer_ = 0;

  std::mutex queue_mutex_;  // guards what follows
  std::vector<store::EventPtr> queue_;
  store::Revision progress_ = 0;
  bool woken_ = false, overflowed_ = false;

  std::atomic<bool> peer_gone_{false}, timer_due_{false};
};

}  // namespace sublet::apiserver
