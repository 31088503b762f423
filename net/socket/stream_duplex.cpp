// Map of this file: what any thread asks; reading; writing; ending; the handle.
#include "net/socket/stream_duplex.h"

#include <sys/epoll.h>

#include <atomic>
#include <utility>

namespace sublet::net {
namespace {

class StreamDuplex final : public std::enable_shared_from_this<StreamDuplex> {
 public:
  StreamDuplex(Loop& loop, std::shared_ptr<Courier> courier_, HandedOver from, std::function<void()> over)
      : courier(std::move(courier_)),
        loop_(loop),
        stream_(std::move(from.stream)),
        output_(std::move(from.output)),
        input_(std::move(from.input)),
        over_(std::move(over)) {}

  /// On the loop. Until there is an observer only the peer's end is of interest, and that waits with the bytes.
  void open() {
    watch();
    flush();
    settle();
  }

  void start(std::shared_ptr<Duplex::Observer> observer);
  void write(std::string bytes);
  void end();
  void close();
  void pause(bool paused);
  std::size_t backlog() const { return backlog_; }

  const std::shared_ptr<Courier> courier;

 private:
  template <class Task>
  void on_loop(Task task) {
    if (courier->in_loop_thread()) return task(*this);
    courier->post([self = shared_from_this(), task = std::move(task)]() mutable { task(*self); });
  }
  bool reads() const { return observer_ && !paused_ && !input_ended_; }
  void on_events(std::uint32_t events);
  void read_some();
  void read_again();
  void hand_in();
  void flush();
  void finish_writing();
  void drop_output();
  void watch();
  void settle();
  void finish();

  Loop& loop_;
  std::unique_ptr<Stream> stream_;  // null when it is over
  OutputQueue output_;
  std::string input_;  // came before there was an observer
  std::function<void()> over_;
  std::shared_ptr<Duplex::Observer> observer_;
  std::atomic<std::size_t> backlog_{0};
  std::atomic<bool> takes_{true};  // what is written still goes somewhere
  bool paused_ = false, input_ended_ = false, ending_ = false, output_ended_ = false;
  bool write_blocked_ = false, read_wants_write_ = false;
  bool drained_unheard_ = false;  // what was written went before there was an observer
  bool unwatched_ = false;        // the loop would report a peer that hung up again and again
};

// What any thread asks ------------------------------------------------------------------------------------------------

void StreamDuplex::start(std::shared_ptr<Duplex::Observer> observer) {
  // A task of its own: the observer is not called from within this call.
  courier->post([self = shared_from_this(), observer = std::move(observer)] {
    if (!self->stream_) return observer->on_over();
    self->observer_ = observer;
    if (std::exchange(self->drained_unheard_, false)) observer->on_drain();
    self->hand_in();
    if (self->reads()) self->read_some();
    self->settle();
  });
}

void StreamDuplex::write(std::string bytes) {
  if (bytes.empty() || !takes_) return;
  backlog_ += bytes.size();
  const auto shared = std::make_shared<const std::string>(std::move(bytes));
  on_loop([shared](StreamDuplex& self) {
    if (!self.stream_ || self.ending_) return void(self.backlog_ -= shared->size());
    self.output_.push({shared, false, true});
    if (!self.write_blocked_) self.flush();
    self.settle();
  });
}

void StreamDuplex::end() {
  on_loop([](StreamDuplex& self) {
    if (!self.stream_ || std::exchange(self.ending_, true)) return;
    if (self.output_.empty()) self.finish_writing();
    self.settle();
  });
}

void StreamDuplex::close() {
  on_loop([](StreamDuplex& self) { self.finish(); });
}

void StreamDuplex::pause(bool paused) {
  on_loop([paused](StreamDuplex& self) {
    if (std::exchange(self.paused_, paused) == paused || !self.stream_) return;
    if (!paused) self.read_again();
    self.settle();
  });
}

// Reading -------------------------------------------------------------------------------------------------------------

void StreamDuplex::on_events(std::uint32_t events) {
  const auto self = shared_from_this();
  if (!stream_) return;
  // What it sent before it hung up is read when there is room for it.
  if ((events & (EPOLLHUP | EPOLLERR)) != 0 && !reads()) {
    loop_.forget_fd(stream_->fd());
    unwatched_ = true;
    if (!output_.empty()) drop_output();
    return;
  }
  if (reads() && (read_wants_write_ || (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0)) read_some();
  if (stream_ && (events & EPOLLOUT) != 0) flush();
  settle();
}

void StreamDuplex::hand_in() {
  if (input_.empty()) return;
  const std::string early = std::exchange(input_, {});
  observer_->on_bytes(early);
}

void StreamDuplex::read_some() {
  char buffer[kReadSize];
  read_wants_write_ = false;
  for (int i = 0; i < kReadsPerEvent && stream_ && reads(); ++i) {
    const auto done = stream_->read(buffer, sizeof(buffer));
    switch (done.io) {
      case Io::ok: {
        const auto observer = observer_;
        observer->on_bytes({buffer, done.bytes});
        if (stream_ && !stream_->holds_input() && done.bytes < sizeof(buffer)) return;  // epoll reports what comes
        break;
      }
      case Io::want_read:
        return;
      case Io::want_write:
        read_wants_write_ = true;
        return;
      case Io::end: {
        input_ended_ = true;
        const auto observer = observer_;
        observer->on_end();
        if (stream_ && output_ended_) finish();
        return;
      }
      case Io::failed:
        return finish();
    }
  }
  if (stream_ && stream_->holds_input()) read_again();  // epoll knows nothing of bytes inside TLS
}

void StreamDuplex::read_again() {
  courier->post([self = shared_from_this()] {
    if (!self->stream_ || !self->reads()) return;
    self->read_some();
    self->settle();
  });
}

// Writing -------------------------------------------------------------------------------------------------------------

void StreamDuplex::flush() {
  if (output_.empty()) return;
  std::size_t sent = 0;
  const Io io = output_.flush(*stream_, sent);
  write_blocked_ = io == Io::want_write;
  const bool drained = sent > 0 && backlog_.fetch_sub(sent) == sent;
  if (io == Io::end || io == Io::failed) return drop_output();
  if (output_.empty() && ending_) finish_writing();
  if (!drained) return;
  drained_unheard_ = !observer_;
  if (const auto observer = observer_) observer->on_drain();
}

void StreamDuplex::finish_writing() {
  if (std::exchange(output_ended_, true)) return;
  stream_->shutdown_writing();
  if (input_ended_) finish();
}

/// The peer reads no more; bytes that it sent before may still be buffered.
void StreamDuplex::drop_output() {
  takes_ = false;
  ending_ = output_ended_ = true;
  write_blocked_ = false;
  output_.clear();
  backlog_ = 0;
  if (input_ended_) return finish();
  if (const auto observer = observer_) observer->on_drain();
}

// Ending --------------------------------------------------------------------------------------------------------------

void StreamDuplex::watch() {
  loop_.watch_fd(stream_->fd(), 0, [self = shared_from_this()](std::uint32_t events) { self->on_events(events); });
}

void StreamDuplex::settle() {
  if (!stream_) return;
  if (unwatched_ && !reads()) return;
  if (std::exchange(unwatched_, false)) watch();
  const std::uint32_t input = reads() ? EPOLLIN : 0u;
  const std::uint32_t output = write_blocked_ || read_wants_write_ ? EPOLLOUT : 0u;
  loop_.change_fd(stream_->fd(), input | output);
}

void StreamDuplex::finish() {
  if (!stream_) return;
  const auto self = shared_from_this();
  takes_ = false;
  if (!unwatched_) loop_.forget_fd(stream_->fd());
  if (!output_ended_) stream_->shutdown_writing();
  stream_.reset();
  output_.clear();
  backlog_ = 0;
  const auto observer = std::exchange(observer_, nullptr);
  const auto over = std::exchange(over_, nullptr);
  if (observer) observer->on_over();
  if (over) over();
}

// The handle ----------------------------------------------------------------------------------------------------------

class DuplexHandle final : public Duplex {
 public:
  explicit DuplexHandle(std::shared_ptr<StreamDuplex> connection) : connection_(std::move(connection)) {}
  DuplexHandle(const DuplexHandle&) = delete;
  DuplexHandle& operator=(const DuplexHandle&) = delete;
  ~DuplexHandle() override { connection_->close(); }
  void start(std::shared_ptr<Observer> observer) override { connection_->start(std::move(observer)); }
  void write(std::string bytes) override { connection_->write(std::move(bytes)); }
  void end() override { connection_->end(); }
  void close() override { connection_->close(); }
  void pause(bool paused) override { connection_->pause(paused); }
  std::size_t backlog() const override { return connection_->backlog(); }
  const std::shared_ptr<Courier>& courier() const override { return connection_->courier; }

 private:
  const std::shared_ptr<StreamDuplex> connection_;
};

}  // namespace

std::shared_ptr<Duplex> make_stream_duplex(Loop& loop, std::shared_ptr<Courier> courier, HandedOver from,
                                           std::function<void()> over) {
  const auto connection = std::make_shared<StreamDuplex>(loop, std::move(courier), std::move(from), std::move(over));
  connection->open();
  return std::make_shared<DuplexHandle>(connection);
}

UpgradableSink* upgradable(ResponseSink& sink) { return dynamic_cast<UpgradableSink*>(&sink); }

}  // namespace sublet::net
