// WatchStream: one running watch: initial state, then events, as frames on the request's sink.
//
// The store delivers on the commit thread into a queue; the hub runs the stream on the loop, where events are filtered
// (with the object before and after, so that a selector's edge shows as ADDED or DELETED), encoded once per event for
// all streams of the same form, and written while the peer keeps up. A peer that does not is let go with a clean end:
// it resumes from its revision, and nobody else waits.
// Lifecycle: start() once; the hub holds the stream until it ends (peer gone, timeout, slow, server stopping).
// Memory: thousands of watches stand idle, so a stream keeps of its request only what it will use; the RequestContext
// goes with start(), what the initial state needs goes when it is sent, and empty queues hold no buffer.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "apiserver/codec/object_filter.h"
#include "apiserver/codec/object_writer.h"
#include "apiserver/request/request_context.h"
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
  WatchStream(const RequestContext& context, WatchRequest request, ObjectFilter filter)
      : core_(context.core),
        sink_(context.sink),
        request_(request),
        filter_(std::move(filter)),
        writer_(*context.route, context.output) {}

  /// Sends the head and subscribes; `context` is the one that the stream was made for. A revision that cannot be served
  /// becomes an ERROR event.
  void start(const RequestContext& context);

  void run(FrameCache& frames) override;
  void finish() override;
  void on_events(const std::vector<store::EventPtr>& events) override;
  void on_progress(store::Revision revision) override;

 private:
  enum class Variant : std::uint8_t { added, modified, deleted, deleted_previous };

  /// What exists already and is still to be sent.
  struct Initial {
    store::Snapshot snapshot;
    std::string prefix;
    std::string cursor;  // the last key looked at
  };

  Outcome subscribe(const std::string& prefix);
  void wake();
  void arm_timer();
  void on_timer();
  bool peer_keeps_up() const;
  bool take_queue();
  void write_initial();
  void write_ready(FrameCache& frames);
  void write_event(FrameCache& frames, const store::EventPtr& event);
  std::optional<Variant> variant_of(const store::Event& event) const;
  FrameCache::Frame frame_of(FrameCache& frames, const store::EventPtr& event, Variant variant);
  void write_frame(FrameCache::Frame frame);
  void write_bookmark(bool initial_end);
  void end_locked();

  const std::shared_ptr<ServerCore> core_;
  const std::shared_ptr<net::ResponseSink> sink_;
  const WatchRequest request_;
  const ObjectFilter filter_;
  const ObjectWriter writer_;

  std::mutex run_mutex_;  // guards what follows; taken before queue_mutex_
  std::unique_ptr<store::Subscription> subscription_;
  std::unique_ptr<Initial> initial_;  // null: all sent
  std::vector<store::EventPtr> ready_;
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
