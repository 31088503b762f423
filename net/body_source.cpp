#include "sublet/net/body_source.h"

#include <atomic>
#include <utility>

#include "sublet/net/courier.h"

namespace sublet::net {
namespace {

// One answer under way. Whoever will bring the next step holds it: the posted task, the sink while it is full, or
// whoever is to wake the source.
class SteppedAnswer final : public Waker, public std::enable_shared_from_this<SteppedAnswer> {
 public:
  SteppedAnswer(std::shared_ptr<ResponseSink> sink, int code, Headers headers, std::unique_ptr<BodySource> source,
                std::function<void(const Status&)> refuse)
      : sink_(std::move(sink)),
        code_(code),
        headers_(std::move(headers)),
        source_(std::move(source)),
        refuse_(std::move(refuse)) {}

  void begin() {
    if (sink_->courier()->in_loop_thread()) return step();
    wake();
  }

  void wake() override {
    if (scheduled_.exchange(true)) return;
    sink_->courier()->post([self = shared_from_this()] {
      self->scheduled_ = false;
      self->step();
    });
  }

 private:
  void step() {
    if (!source_) return;
    if (sink_->closed()) return source_.reset();
    if (!sink_->wants_more()) return pause();
    std::string piece;
    const auto said = source_->next(piece, shared_from_this());
    if (!said) return give_up(said.error());
    if (!streaming_ && *said == BodySource::Step::end) return answer_whole(std::move(piece));
    if (!piece.empty()) {
      if (!std::exchange(streaming_, true)) start();
      sink_->write(std::make_shared<const std::string>(std::move(piece)));
    }
    if (*said == BodySource::Step::end) return finish();
    watch_close();
    if (*said == BodySource::Step::more) wake();
  }

  void start() {
    source_->add_headers(headers_);
    sink_->start(code_, std::exchange(headers_, {}));
  }

  void answer_whole(std::string body) {
    source_->add_headers(headers_);
    source_.reset();
    sink_->respond(code_, std::move(headers_), std::move(body));
  }

  void finish() {
    source_.reset();
    sink_->end();
  }

  void give_up(const Status& why) {
    source_.reset();
    if (streaming_)
      sink_->abort();
    else
      refuse_(why);
  }

  void pause() {
    sink_->on_drain([self = shared_from_this()] {
      self->sink_->on_drain(nullptr);
      self->wake();
    });
  }

  /// What the source holds goes with the peer, not with its next step.
  void watch_close() {
    if (std::exchange(watches_close_, true)) return;
    sink_->on_close([weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->source_.reset();
    });
  }

  const std::shared_ptr<ResponseSink> sink_;
  const int code_;
  std::atomic<bool> scheduled_{false};

  // the loop's thread only
  Headers headers_;
  std::unique_ptr<BodySource> source_;  // null: over
  const std::function<void(const Status&)> refuse_;
  bool streaming_ = false, watches_close_ = false;
};

}  // namespace

void answer_in_steps(std::shared_ptr<ResponseSink> sink, int code, Headers headers, std::unique_ptr<BodySource> source,
                     std::function<void(const Status&)> refuse) {
  std::make_shared<SteppedAnswer>(std::move(sink), code, std::move(headers), std::move(source), std::move(refuse))
      ->begin();
}

}  // namespace sublet::net
