// WatchStream: one running watch: initial state, then events, as frames on the request's sink.
//
// A cursor into the store's history: every event up to it was looked at, filtered (with the object before and after, so
// that a selector's edge shows as ADDED or DELETED) and written. It moves while the peer takes what is written; when
// the peer does not, the stream waits where it is, and reads on from there when the peer has drained. So a slow peer
// costs its backlog, and no other watch waits. Only history compacted before it was read ends a stream early, with the
// API's 410. A custom kind that is removed or changed ends its watches cleanly once they have sent all events: they
// read by what was known of it when they began. What a webhook converts is converted by workers, a step ahead, and a
// stream ends with the error when that fails.
//
// Lifecycle: start() once; the hub holds the stream until it ends (peer gone, timeout, expired, server stopping).
// Threads: start() on the request's; all the rest on the hub's loop.
// Memory: thousands of watches stand idle, so a stream keeps of its request only what it will use; the RequestContext
// goes with start(), what the initial state needs goes when it is sent.
#pragma once

#include <atomic>
#include <memory>
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

class WatchStream final : public WatchSession, public std::enable_shared_from_this<WatchStream> {
 public:
  WatchStream(const RequestContext& context, WatchRequest request, ObjectFilter filter)
      : core_(context.core),
        kinds_(context.kinds),
        sink_(context.sink),
        request_(request),
        filter_(std::move(filter)),
        writer_(*context.route, context.output) {}

  /// Sends the head and subscribes; `context` is the one that the stream was made for. A revision that cannot be served
  /// becomes an ERROR event.
  void start(const RequestContext& context);

  void run(FrameCache& frames) override;
  void deliver(const std::vector<store::EventPtr>& events, store::Revision from, store::Revision up_to,
               FrameCache& frames) override;
  void fall_behind() override;
  void finish() override;
  void finish_after(store::Revision last) override;
  /// The right to watch has gone: says so and ends.
  void revoke(const Status& forbidden);

 private:
  enum class Variant : std::uint8_t { added, modified, deleted, deleted_previous };

  /// What exists already and is still to be sent.
  struct Initial {
    store::Snapshot snapshot;
    std::string key;  // the last one looked at
  };

  void begin();
  bool kind_has_changed() const;
  void wake();
  void arm_timer();
  void on_timer();
  bool peer_keeps_up();
  bool at_hand(std::vector<store::ObjectPtr> objects);
  void prepare(std::vector<store::ObjectPtr> objects);
  void take_prepared(Result<std::shared_ptr<const void>> prepared);
  void write_initial();
  void catch_up(FrameCache& frames);
  bool write_events(const std::vector<store::EventPtr>& events, FrameCache& frames);
  std::vector<store::ObjectPtr> reads_of(const store::EventPtr& event) const;
  bool is_at_hand(const std::vector<store::EventPtr>& events, std::size_t at);
  void write_event(FrameCache& frames, const store::EventPtr& event);
  Result<std::optional<Variant>> variant_of(const store::Event& event) const;
  FrameCache::Frame frame_of(FrameCache& frames, const store::EventPtr& event, Variant variant);
  void write_bookmark(bool initial_end);
  void set_live(bool live);
  void expire(Status status);

  const std::shared_ptr<ServerCore> core_;
  const std::shared_ptr<const schema::Registry> kinds_;  // what the filter and the writer know of the resource
  const std::shared_ptr<net::ResponseSink> sink_;
  const WatchRequest request_;
  const ObjectFilter filter_;
  const ObjectWriter writer_;

  std::string prefix_;
  std::unique_ptr<Initial> initial_;  // null: all sent
  store::Revision cursor_ = 0;        // every event up to it was examined; when live, also up to the hub's delivered()
  store::Revision last_ = 0;          // the stream ends when `cursor_` is there; 0: it goes on
  SteadyTime deadline_{}, next_bookmark_{};
  net::Loop::TimerId timer_ = 0;
  bool begun_ = false, live_ = false, done_ = false;
  bool initial_end_due_ = false, wrote_columns_ = false, timer_due_ = false;

  // Of objects that somebody else converts: what was converted for the next step, and whether more is asked for.
  std::shared_ptr<const void> prepared_;
  bool preparing_ = false;

  std::atomic<bool> peer_gone_{false};
  std::atomic<bool> waits_{false};  // for the peer to take its backlog
};

}  // namespace sublet::apiserver
