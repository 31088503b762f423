// Map of this file: reading (events -> bytes -> requests), answering (drain -> flush -> finish), time, ending.
#include "net/server/h1_connection.h"

#include <sys/epoll.h>

#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include "net/http/h1_parser.h"
#include "net/http/handler_call.h"
#include "net/server/h1_answer.h"
#include "net/socket/output_queue.h"
#include "net/socket/stream_duplex.h"
#include "sublet/base/log.h"

namespace sublet::net {
namespace {

constexpr std::size_t kPipelinedBytesMax = 64 * 1024;  // read ahead of a running answer, to notice the peer's end
constexpr std::chrono::milliseconds kLingerTime{2'000};
constexpr std::size_t kLingerBytesMax = 32 * 1024 * 1024;
constexpr std::size_t kUnreadBodyMax =
    256 * 1024;  // of a request answered without its body: read, to keep the connection

/// Represents in the loop's table a connection that was handed over.
class Upgraded final : public ServerConnection {
 public:
  Upgraded(std::shared_ptr<H1Answer> answer, PeerIdentity peer) : answer_(std::move(answer)), peer_(std::move(peer)) {}
  void is(const std::shared_ptr<Duplex>& connection) { connection_ = connection; }
  void flush_answers() override {
    OutputQueue nothing;
    if (answer_->drain(nothing).aborted) close();
  }
  void finish() override { close(); }
  void close() override {
    if (const auto connection = connection_.lock()) connection->close();
  }
  const PeerIdentity* peer() const override { return &peer_; }

 private:
  const std::shared_ptr<H1Answer> answer_;
  const PeerIdentity peer_;
  std::weak_ptr<Duplex> connection_;  // its new owner holds it
};

class H1Connection final : public ServerConnection, public std::enable_shared_from_this<H1Connection> {
 public:
  H1Connection(std::shared_ptr<ServingLoop> core, std::unique_ptr<Stream> stream)
      : core_(std::move(core)), stream_(std::move(stream)), peer_(stream_->take_peer()) {
    if (peer_.kind != PeerIdentity::Kind::anonymous) stream_->count_as(nullptr);
  }

  void start();
  void flush_answers() override;
  void read_body(std::function<void(std::string)>&& then) override;
  void peer_is_known() override;
  void finish() override;
  void close() override;
  const PeerIdentity* peer() const override { return &peer_; }

 private:
  /// What a time limit is for.
  enum class Phase { none, idle, head, body, stalled, lingering };

  void on_events(std::uint32_t events);
  void read_some();
  void take(std::string_view bytes);
  std::size_t parse(std::string_view bytes);
  void on_body_begun();
  void on_message();
  void dispatch();
  void dispatch_head();
  void hand_over_body();
  void count_held() const;
  void refuse();
  void refuse(int code, Reason reason, std::string_view message);
  void on_peer_end();

  void flush();
  void finish_answer();
  void hand_over();
  void linger();
  bool reads() const { return takes_bytes() || in_.size() < kPipelinedBytesMax; }
  /// What comes is for the parser: of the next request, or the body that is asked for.
  bool takes_bytes() const { return !answer_ || on_body_; }
  void settle();

  Phase phase() const;
  void update_deadline();
  void arm();
  void on_timer();
  void expire();

  const std::shared_ptr<ServingLoop> core_;
  std::unique_ptr<Stream> stream_;
  const PeerIdentity peer_;

  std::unique_ptr<RequestParser> parser_;  // while a message is being read
  std::string in_;                         // bytes behind the running message
  OutputQueue output_;
  std::shared_ptr<H1Answer> answer_;  // while a request is being answered
  H1Answer::Drained answer_state_;
  std::function<void(std::shared_ptr<Duplex>)> upgraded_;  // who gets the connection
  std::function<void(std::string)> on_body_;               // who waits for the running request's body

  bool parsing_ = false;
  bool body_begun_ = false;
  bool body_unread_ = false;   // the running request was given without its body
  bool body_dropped_ = false;  // what the parser reads is the body of an answered request
  bool refused_ = false;       // no further request is read
  bool finishing_ = false;     // ends after the running answer
  bool lingering_ = false;     // the last answer is sent; waits until the peer has read it
  bool closed_ = false;
  bool write_blocked_ = false;
  bool read_wants_write_ = false;
  std::size_t stalled_at_ = 0;  // what the peer still had to take when its time began
  std::size_t lingered_bytes_ = 0;

  Phase phase_ = Phase::none;
  std::uint64_t turn_ = 0, phase_turn_ = 0;  // a phase restarts when a request or a write makes progress
  SteadyTime deadline_ = SteadyTime::max();
  SteadyTime timer_when_ = SteadyTime::max();
  Loop::TimerId timer_ = 0;
};

// Reading -------------------------------------------------------------------------------------------------------------

void H1Connection::start() {
  core_->add(shared_from_this());
  core_->loop.watch_fd(stream_->fd(), EPOLLIN, [this](std::uint32_t events) { on_events(events); });
  phase_ = Phase::head;  // a peer that connects and says nothing gets the shorter time
  deadline_ = core_->clock.steady_now() + core_->limits.header_timeout;
  arm();
  if (stream_->holds_input()) on_events(EPOLLIN);
}

void H1Connection::on_events(std::uint32_t events) {
  const auto self = shared_from_this();
  if ((events & (EPOLLHUP | EPOLLERR)) != 0 && !reads()) return close();  // it would be reported again and again
  if (read_wants_write_ || (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) read_some();
  if (!closed_ && !output_.empty()) flush();
  settle();
}

void H1Connection::read_some() {
  char buffer[kReadSize];
  read_wants_write_ = false;
  for (int i = 0; i < kReadsPerEvent && !closed_; ++i) {
    if (!reads()) return;
    const auto done = stream_->read(buffer, sizeof(buffer));
    switch (done.io) {
      case Io::ok:
        take({buffer, done.bytes});
        if (!closed_ && !stream_->holds_input() && done.bytes < sizeof(buffer)) return;  // epoll reports what comes
        break;
      case Io::want_read:
        return;
      case Io::want_write:
        read_wants_write_ = true;
        return;
      case Io::end:
        return on_peer_end();
      case Io::failed:
        log::debug("net.read_failed", {{"peer", peer_.address}, {"why", stream_->error()}});
        return close();
    }
  }
  // Bytes inside TLS are invisible to epoll; look again after the others had their turn.
  if (!closed_ && stream_->holds_input())
    core_->courier->post([self = shared_from_this()] {
      if (!self->closed_) self->on_events(EPOLLIN);
    });
}

void H1Connection::take(std::string_view bytes) {
  if (lingering_) {
    lingered_bytes_ += bytes.size();
    if (lingered_bytes_ > kLingerBytesMax) close();
    return;
  }
  if (in_.empty()) {  // the common case: nothing is copied
    const auto used = parse(bytes);
    if (closed_) return;
    if (!lingering_) in_.append(bytes.substr(used));
    return count_held();
  }
  in_.append(bytes);
  const auto used = parse(in_);
  if (closed_) return;
  in_.erase(0, used);
  if (in_.empty()) std::string().swap(in_);
  count_held();
}

void H1Connection::count_held() const {
  if (auto* stranger = stream_->stranger()) stranger->holds(in_.capacity() + (parser_ ? parser_->held() : 0));
}

/// Reads messages until one is being answered or bytes are missing. Returns how many bytes are used up.
std::size_t H1Connection::parse(std::string_view bytes) {
  std::size_t used = 0;
  parsing_ = true;
  while (!closed_ && takes_bytes() && !refused_ && !lingering_ && used < bytes.size()) {
    if (!parser_)
      parser_ =
          std::make_unique<RequestParser>(ParserLimits{core_->limits.header_bytes_max, core_->limits.body_bytes_max});
    const auto taken = parser_->put(bytes.substr(used));
    used += taken;
    if (parser_->refusal() != 0) {
      refuse();
    } else if (parser_->done()) {
      on_message();
    } else {
      if (parser_->head_done() && !std::exchange(body_begun_, true)) on_body_begun();
      if (taken == 0) break;
    }
  }
  parsing_ = false;
  return used;
}

void H1Connection::on_body_begun() {
  if (core_->limits.heads_first) return dispatch_head();
  if (!parser_->expects_continue()) return;
  output_.push("HTTP/1.1 100 Continue\r\n\r\n");
  flush();
}

void H1Connection::on_message() {
  if (!body_begun_) return dispatch();
  if (on_body_) return hand_over_body();
  if (!body_dropped_) return dispatch();
  parser_.reset();
  body_begun_ = body_dropped_ = false;
  ++turn_;
}

void H1Connection::dispatch() {
  auto request = parser_->take();
  const H1Answer::Shape shape{request.method == "HEAD", parser_->is_http_1_0(),
                              parser_->keep_alive() && !finishing_ && !core_->stopping};
  parser_.reset();
  body_begun_ = false;
  ++turn_;
  request.peer = peer_;
  answer_ = std::make_shared<H1Answer>(core_, shared_from_this(), shape);
  const auto handler = core_->handler;  // it may stop the server, which drops it
  call_handler(*handler, std::move(request), answer_);
  flush_answers();
}

/// The handler decides whether the body is worth reading; the parser waits with it.
void H1Connection::dispatch_head() {
  auto request = parser_->take_head();
  const bool keep = parser_->keep_alive() && !finishing_ && !core_->stopping;
  const H1Answer::Shape shape{request.method == "HEAD", parser_->is_http_1_0(),
                              keep && parser_->rest_is_below(kUnreadBodyMax)};
  body_unread_ = true;
  ++turn_;
  request.peer = peer_;
  request.body_follows = true;
  answer_ = std::make_shared<H1Answer>(core_, shared_from_this(), shape);
  const auto handler = core_->handler;
  call_handler(*handler, std::move(request), answer_);
  flush_answers();
}

void H1Connection::read_body(std::function<void(std::string)>&& then) {
  if (closed_ || !body_unread_ || on_body_ || !parser_) return;
  on_body_ = std::move(then);
  ++turn_;
  if (parser_->expects_continue()) {
    output_.push("HTTP/1.1 100 Continue\r\n\r\n");
    flush();
  }
  if (!parsing_) settle();
}

void H1Connection::peer_is_known() {
  if (stream_) stream_->count_as(nullptr);
}

void H1Connection::hand_over_body() {
  const auto then = std::exchange(on_body_, nullptr);
  auto body = parser_->take_body();
  answer_->keep_alive(parser_->keep_alive() && !finishing_ && !core_->stopping);
  parser_.reset();
  body_begun_ = body_unread_ = false;
  ++turn_;
  const auto answer = answer_;
  call_with_body(then, std::move(body), *answer);
  flush_answers();
}

void H1Connection::refuse() {
  const int code = parser_->refusal();
  const auto reason = code == 413 ? Reason::request_entity_too_large : Reason::bad_request;
  refuse(code, reason, std::string(parser_->error()));
}

/// Answers a message that is not one, or not allowed to be, and ends the connection: what follows cannot be trusted.
void H1Connection::refuse(int code, Reason reason, std::string_view message) {
  refused_ = true;
  ++turn_;
  if (answer_)
    answer_->keep_alive(false);
  else
    answer_ = std::make_shared<H1Answer>(core_, shared_from_this(), H1Answer::Shape{false, false, false});
  const auto unheard = std::exchange(on_body_, nullptr);  // who waits for the body may answer no more
  parser_.reset();
  body_unread_ = false;
  respond_failure(*answer_, code, reason, std::string(message));
  flush_answers();
}

/// The peer sends no more. Clients of this API close both ways at once, so it has gone and reads no answer.
void H1Connection::on_peer_end() { close(); }

// Answering -----------------------------------------------------------------------------------------------------------

void H1Connection::flush_answers() {
  if (closed_ || !answer_) return;
  const auto self = shared_from_this();
  answer_state_ = answer_->drain(output_);
  if (answer_state_.upgraded) upgraded_ = std::move(answer_state_.upgraded);
  if (answer_state_.aborted) {
    stream_->reset_on_close();
    return close();
  }
  if (!write_blocked_) flush();
  if (!parsing_) settle();
}

void H1Connection::flush() {
  std::size_t sent = 0;
  const Io io = output_.flush(*stream_, sent);
  write_blocked_ = io == Io::want_write;
  if (sent > 0) ++turn_;
  if (const auto answer = answer_) answer->sent(sent);
  if (closed_) return;
  if (io == Io::end || io == Io::failed) {
    log::debug("net.write_failed", {{"peer", peer_.address}, {"why", stream_->error()}});
    return close();
  }
  if (io == Io::ok && answer_ && answer_state_.ended) finish_answer();
}

void H1Connection::finish_answer() {
  const auto answer = std::move(answer_);
  bool keep = answer_state_.keep_alive && !finishing_ && !refused_;
  const auto unheard = std::exchange(on_body_, nullptr);
  if (std::exchange(body_unread_, false) && parser_) {
    keep = keep && parser_->rest_is_below(kUnreadBodyMax);
    body_dropped_ = true;
    parser_->discard();
  }
  answer_state_ = {};
  ++turn_;
  if (!keep) linger();
  answer->close();
}

/// HTTP is over on this connection: it becomes somebody's who knows what comes next.
void H1Connection::hand_over() {
  const auto self = shared_from_this();
  closed_ = true;
  core_->loop.forget_fd(stream_->fd());
  core_->loop.cancel(timer_);
  const auto answer = std::move(answer_);
  const auto then = std::exchange(upgraded_, nullptr);
  const auto place = std::make_shared<Upgraded>(answer, peer_);
  core_->add(place);
  answer->move_to(place);
  const auto connection =
      make_stream_duplex(core_->loop, core_->courier, {std::move(stream_), std::move(output_), std::move(in_)},
                         [core = core_, place, answer] {
                           core->remove(place);
                           answer->close();
                         });
  place->is(connection);
  core_->remove(self);
  then(connection);
}

/// Sends our end and reads on for a while: closing with unread bytes would reset the connection, and the peer might
/// lose the answer.
void H1Connection::linger() {
  lingering_ = true;
  std::string().swap(in_);
  stream_->shutdown_writing();
}

/// What every entry from the loop ends with: goes on with requests that already lie here, then sets interest and time.
void H1Connection::settle() {
  if (!closed_ && !parsing_ && takes_bytes() && !in_.empty()) take({});
  if (closed_) return;
  if (upgraded_ && !parsing_) return hand_over();
  if (!answer_ && stream_->holds_input())
    core_->courier->post([self = shared_from_this()] {
      if (!self->closed_) self->on_events(EPOLLIN);
    });
  const std::uint32_t input = reads() ? EPOLLIN : 0u;
  const std::uint32_t output = write_blocked_ || read_wants_write_ ? EPOLLOUT : 0u;
  core_->loop.change_fd(stream_->fd(), input | output);
  update_deadline();
}

// Time ----------------------------------------------------------------------------------------------------------------

H1Connection::Phase H1Connection::phase() const {
  if (lingering_) return Phase::lingering;
  if (write_blocked_) return Phase::stalled;
  if (answer_) return on_body_ ? Phase::body : Phase::none;
  if (!parser_) return turn_ == 0 ? Phase::head : Phase::idle;
  return body_begun_ ? Phase::body : Phase::head;
}

void H1Connection::update_deadline() {
  const auto now_phase = phase();
  if (now_phase == phase_ && phase_turn_ == turn_) return;
  phase_ = now_phase;
  phase_turn_ = turn_;
  const auto& limits = core_->limits;
  const auto limit = [&]() -> std::chrono::milliseconds {
    switch (phase_) {
      case Phase::idle:
        return limits.idle_timeout;
      case Phase::head:
        return limits.header_timeout;
      case Phase::body:
        return limits.body_timeout;
      case Phase::stalled:
        return limits.stalled_write_timeout;
      case Phase::lingering:
        return kLingerTime;
      case Phase::none:
        break;
    }
    return std::chrono::milliseconds::zero();
  }();
  if (phase_ == Phase::stalled) stalled_at_ = stream_->unacknowledged();
  deadline_ = phase_ == Phase::none ? SteadyTime::max() : core_->clock.steady_now() + limit;
  arm();
}

/// A timer that is due earlier than needed is left alone and looks again when it fires: requests set no timers.
void H1Connection::arm() {
  if (deadline_ == SteadyTime::max() || (timer_ != 0 && timer_when_ <= deadline_)) return;
  core_->loop.cancel(timer_);
  timer_when_ = deadline_;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - core_->clock.steady_now());
  timer_ = core_->loop.after(left, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->on_timer();
  });
}

void H1Connection::on_timer() {
  timer_ = 0;
  if (closed_) return;
  if (core_->clock.steady_now() >= deadline_) return expire();
  arm();
}

void H1Connection::expire() {
  deadline_ = SteadyTime::max();
  if (phase_ == Phase::body && !body_dropped_)
    return refuse(408, Reason::timeout, "the request's body did not arrive in time");
  if (phase_ == Phase::stalled) {
    // A socket takes no more until much of its buffer is free, and a slow reader needs its time for that.
    if (stream_->unacknowledged() < stalled_at_) {
      ++turn_;
      return update_deadline();
    }
    log::info("net.slow_reader_closed", {{"peer", peer_.address}});
    stream_->reset_on_close();
  }
  close();
}

// Ending --------------------------------------------------------------------------------------------------------------

void H1Connection::finish() {
  finishing_ = true;
  if (closed_ || answer_ || lingering_) return;
  stream_->shutdown_writing();
  close();
}

void H1Connection::close() {
  if (std::exchange(closed_, true)) return;
  const auto self = shared_from_this();
  core_->loop.forget_fd(stream_->fd());
  core_->loop.cancel(timer_);
  const auto answer = std::move(answer_);
  const auto unheard = std::exchange(on_body_, nullptr);
  stream_.reset();
  if (!parsing_) {
    parser_.reset();
    std::string().swap(in_);  // while parsing, a caller still looks at both
  }
  output_.clear();
  const auto unclaimed = std::exchange(upgraded_, nullptr);
  core_->remove(self);
  if (answer) answer->close();
}

}  // namespace

void start_h1_connection(std::shared_ptr<ServingLoop> core, std::unique_ptr<Stream> stream) {
  std::make_shared<H1Connection>(std::move(core), std::move(stream))->start();
}

}  // namespace sublet::net
