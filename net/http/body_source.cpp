#include "sublet/net/body_source.h"

#include <atomic>
#include <string>
#include <utility>

#include "sublet/net/courier.h"

namespace sublet::net {
namespace {

constexpr std::size_t kRecord = 16 * 1024;  // a connection writes so much at once, as one TLS record

/// So many bytes as one chunk on the wire.
std::size_t framed(std::size_t bytes) {
  std::size_t digits = 0;
  for (auto left = bytes; left > 0; left /= 16) ++digits;
  return bytes == 0 ? 0 : digits + bytes + 4;  // and two line ends
}

/// How much of a piece goes with what is held back of those before, so that both fill records: a short record costs as
/// much as a full one.
std::size_t fill_records(std::size_t held, std::size_t piece) {
  const auto whole = (framed(held) + framed(piece)) / kRecord * kRecord;
  if (whole <= framed(held)) return 0;
  auto bytes = whole - framed(held);  // with its frame
  while (bytes > 0 && framed(held) + framed(bytes) > whole) --bytes;
  return bytes;
}

// One answer under way. The holder brings the next step: the posted task, the sink while it is full, or the source's
// Waker.
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
    const auto piece = empty_piece();
    const auto step = source_->next(*piece, shared_from_this());
    if (!step) return give_up(step.error());
    if (!streaming_ && *step == BodySource::Step::end) return answer_whole(std::move(*piece));
    send(piece, *step == BodySource::Step::more);
    if (*step == BodySource::Step::end) return finish();
    watch_close();
    if (*step == BodySource::Step::more) return wake();
    piece_.reset();  // the wait may be long
  }

  /// The last piece's memory when it is on its way: what is allocated and freed by the 64 KiB makes malloc tidy up.
  std::shared_ptr<std::string> empty_piece() {
    if (piece_.use_count() == 1) {
      std::shared_ptr<std::string>(piece_).reset();  // after its last holder: counting orders, asking does not
      piece_->clear();
    } else {
      piece_ = std::make_shared<std::string>();
    }
    return piece_;
  }

  /// `more`: the next piece comes at once, so what would make a short record waits for it.
  void send(const std::shared_ptr<std::string>& piece, bool more) {
    if (piece->empty() && (more || held_.empty())) return;
    if (!std::exchange(streaming_, true)) start();
    const auto now = more ? fill_records(held_.size(), piece->size()) : piece->size();
    if (more && now == 0) {
      held_ += *piece;
      return;
    }
    std::string rest(*piece, now);
    piece->resize(now);
    if (!held_.empty()) sink_->write(std::make_shared<const std::string>(std::move(held_)));
    if (!piece->empty()) sink_->write(piece);
    held_ = std::move(rest);
  }

  void start() {
    source_->add_headers(headers_);
    sink_->start(code_, std::exchange(headers_, {}));
  }

  void answer_whole(std::string body) {
    source_->add_headers(headers_);
    let_go_of_source(body.size());
    sink_->respond(code_, std::move(headers_), std::move(body));
  }

  void finish() {
    let_go_of_source(sink_->backlog());
    sink_->end();
  }

  void let_go_of_source(std::size_t unread) {
    if (unread <= kStepBytes) return source_.reset();
    sink_->on_close([kept = std::shared_ptr<BodySource>(std::move(source_))] {});
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
  std::shared_ptr<std::string> piece_;  // the last one
  std::string held_;                    // the end of what was made, less than a record
};

}  // namespace

void answer_in_steps(std::shared_ptr<ResponseSink> sink, int code, Headers headers, std::unique_ptr<BodySource> source,
                     std::function<void(const Status&)> refuse) {
  std::make_shared<SteppedAnswer>(std::move(sink), code, std::move(headers), std::move(source), std::move(refuse))
      ->begin();
}

}  // namespace sublet::net
