#include "net/client/client_connection.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "net/socket/stream_duplex.h"

namespace sublet::net {
namespace {

constexpr std::size_t kHeadBytesMax = 256 * 1024;

void set_tcp_options(int fd) {
  constexpr int kOptions[][3] = {{IPPROTO_TCP, TCP_NODELAY, 1},
                                 {SOL_SOCKET, SO_KEEPALIVE, 1},
                                 {IPPROTO_TCP, TCP_KEEPIDLE, 30},
                                 {IPPROTO_TCP, TCP_KEEPINTVL, 10},
                                 {IPPROTO_TCP, TCP_KEEPCNT, 3}};
  for (const auto& [level, name, value] : kOptions) ::setsockopt(fd, level, name, &value, sizeof(value));
}

std::string text_of(const SocketAddress& address) {
  char host[NI_MAXHOST];
  const int code = ::getnameinfo(address.get(), address.size, host, sizeof(host), nullptr, 0, NI_NUMERICHOST);
  return code == 0 ? host : "the address";
}

}  // namespace

ClientConnection::ClientConnection(Loop& loop, std::weak_ptr<Owner> owner, std::shared_ptr<const Endpoint> endpoint,
                                   MayConnect may_connect)
    : loop_(loop), owner_(std::move(owner)), endpoint_(std::move(endpoint)), may_connect_(std::move(may_connect)) {}

ClientConnection::~ClientConnection() = default;

std::string ClientConnection::where() const {
  return endpoint_->unix_path.empty() ? endpoint_->host + ":" + std::to_string(endpoint_->port) : endpoint_->unix_path;
}

// Connecting ----------------------------------------------------------------------------------------------------------

void ClientConnection::open(std::shared_ptr<ClientCall> call, std::chrono::milliseconds connect_timeout) {
  call_ = std::move(call);
  set_timer(connect_timeout, [this] { fail_call("no connection within the time limit", false); });
  if (!endpoint_->unix_path.empty()) {
    auto address = unix_address(endpoint_->unix_path);
    if (!address) return fail_call(address.error().message, false);
    return on_resolved(std::vector<SocketAddress>{*address});
  }
  resolving_ = resolve(loop_, endpoint_->host, endpoint_->port, [this](Result<std::vector<SocketAddress>> addresses) {
    const auto self = shared_from_this();
    on_resolved(std::move(addresses));
  });
}

void ClientConnection::on_resolved(Result<std::vector<SocketAddress>> addresses) {
  if (!addresses) return fail_call(addresses.error().message, false);
  addresses_ = std::move(*addresses);
  connect_next("no address");
}

void ClientConnection::connect_next(const std::string& last_error) {
  if (connecting_) loop_.forget_fd(connecting_.get());
  std::string error = last_error;
  while (next_address_ < addresses_.size()) {
    const auto& address = addresses_[next_address_++];
    if (const auto refused = may_connect_ ? may_connect_(*address.get()) : std::string_view(); !refused.empty()) {
      error = text_of(address) + " " + std::string(refused);
      continue;
    }
    connecting_ = Descriptor(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (connecting_ && address.storage.ss_family != AF_UNIX) set_tcp_options(connecting_.get());
    if (connecting_ && ::connect(connecting_.get(), address.get(), address.size) == 0) return on_connected();
    if (connecting_ && errno == EINPROGRESS) {
      loop_.watch_fd(connecting_.get(), EPOLLOUT, [this](std::uint32_t) {
        const auto self = shared_from_this();
        int code = 0;
        socklen_t size = sizeof(code);
        ::getsockopt(connecting_.get(), SOL_SOCKET, SO_ERROR, &code, &size);
        if (code != 0) return connect_next(std::strerror(code));
        on_connected();
      });
      return;
    }
    error = std::strerror(errno);
  }
  fail_call("cannot connect: " + error, false);
}

void ClientConnection::on_connected() {
  loop_.forget_fd(connecting_.get());
  std::vector<SocketAddress>().swap(addresses_);
  if (!endpoint_->tls) {
    stream_ = make_plain_stream(std::move(connecting_));
  } else {
    auto stream = make_tls_client_stream(std::move(connecting_), endpoint_->tls, endpoint_->host);
    if (!stream) return fail_call(stream.error().message, false);
    stream_ = std::move(*stream);
  }
  state_ = State::handshaking;
  watch();
  shake_hands();
}

void ClientConnection::shake_hands() {
  switch (stream_->handshake()) {
    case Io::ok:
      loop_.cancel(std::exchange(timer_, 0));
      return begin();
    case Io::want_read:
      return loop_.change_fd(stream_->fd(), EPOLLIN);
    case Io::want_write:
      return loop_.change_fd(stream_->fd(), EPOLLOUT);
    case Io::end:
      return fail_call(
          stream_->error().empty() ? "the peer closed the connection in the TLS handshake" : stream_->error(), false);
    case Io::failed:
      return fail_call(stream_->error(), false);
  }
}

void ClientConnection::watch() {
  loop_.watch_fd(stream_->fd(), EPOLLIN, [this](std::uint32_t events) { on_events(events); });
}

// One call ------------------------------------------------------------------------------------------------------------

void ClientConnection::send(std::shared_ptr<ClientCall> call) {
  loop_.cancel(std::exchange(timer_, 0));
  call_ = std::move(call);
  reused_ = true;
  begin();
}

void ClientConnection::begin() {
  if (call_->observed.over()) {  // cancelled while we connected
    call_.reset();
    state_ = State::idle;
    settle();
    if (const auto owner = owner_.lock()) owner->on_idle(shared_from_this());
    return;
  }
  state_ = State::busy;
  answer_begun_ = sent_some_ = false;
  Listener& listener = *this;
  parser_ = std::make_unique<ResponseParser>(listener, call_->is_head, kHeadBytesMax, call_->may_upgrade);
  output_.push({call_->head});
  output_.push({call_->body});
  flush();
  settle();
}

void ClientConnection::on_events(std::uint32_t events) {
  const auto self = shared_from_this();
  if (state_ == State::handshaking) return shake_hands();
  if (read_wants_write_ || (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) read_some();
  if (state_ == State::busy && !output_.empty()) flush();
  settle();
}

void ClientConnection::read_some() {
  char buffer[kReadSize];
  read_wants_write_ = false;
  for (int i = 0; i < kReadsPerEvent && state_ != State::over && !paused(); ++i) {
    const auto done = stream_->read(buffer, sizeof(buffer));
    switch (done.io) {
      case Io::ok:
        take({buffer, done.bytes});
        if (state_ != State::over && !stream_->holds_input() && done.bytes < sizeof(buffer)) return;
        break;
      case Io::want_read:
        return;
      case Io::want_write:
        read_wants_write_ = true;
        return;
      case Io::end:
        return on_peer_end();
      case Io::failed:
        return fail_call(stream_->error(), false);
    }
  }
  if (state_ != State::over && !paused() && stream_->holds_input())
    loop_.post([weak = weak_from_this()] {
      const auto self = weak.lock();
      if (self && self->state_ != State::over) self->on_events(EPOLLIN);
    });
}

void ClientConnection::take(std::string_view bytes) {
  if (state_ != State::busy) return close();  // an answer without a request: the peer cannot be trusted
  answer_begun_ = true;
  std::size_t used;
  if (in_.empty()) {
    used = parser_->put(bytes);
    in_.append(bytes.substr(used));
  } else {
    in_.append(bytes);
    used = parser_->put(in_);
    in_.erase(0, used);
  }
  if (state_ != State::busy) return;
  if (in_.empty()) std::string().swap(in_);
  if (!parser_->error().empty()) return fail_call(std::string(parser_->error()), false);
  if (parser_->upgraded()) return hand_over();
  if (parser_->done()) finish();
}

void ClientConnection::on_head(int code, const Headers& headers) { call_->observed.head(code, headers); }

void ClientConnection::on_body(std::string_view chunk) { call_->observed.body(chunk); }

void ClientConnection::flush() {
  std::size_t sent = 0;
  const Io io = output_.flush(*stream_, sent);
  sent_some_ = sent_some_ || io == Io::ok || io == Io::want_write;
  write_blocked_ = io == Io::want_write;
  if (io == Io::failed) return fail_call(stream_->error(), false);
  if (io != Io::end) return;
  // The peer closed its reading side; it may have answered first (413 to a large body does that): read on.
  output_.clear();
  read_some();
  if (state_ == State::busy && !answer_begun_) on_peer_end();
}

/// The answer is complete.
void ClientConnection::finish() {
  const auto self = shared_from_this();
  const bool reusable = parser_->keep_alive() && output_.empty() && in_.empty();
  const auto call = std::move(call_);
  parser_.reset();
  const auto owner = owner_.lock();
  if (!reusable || !owner) {
    close();
  } else {
    state_ = State::idle;
    settle();
  }
  call->observed.end({});
  if (!owner) return;
  owner->on_call_over(*call);
  if (state_ == State::idle) owner->on_idle(self);
}

/// HTTP is over: the connection is the observer's, and no longer one of the pool's.
void ClientConnection::hand_over() {
  const auto self = shared_from_this();
  const auto call = std::move(call_);
  state_ = State::over;
  loop_.cancel(std::exchange(timer_, 0));
  loop_.forget_fd(stream_->fd());
  parser_.reset();
  const auto connection = make_stream_duplex(loop_, std::make_shared<Courier>(loop_),
                                             {std::move(stream_), std::move(output_), std::move(in_)}, {});
  if (const auto owner = owner_.lock()) {
    owner->on_call_over(*call);
    owner->on_over(self, nullptr);
  }
  call->observed.upgrade(connection);
}

void ClientConnection::on_peer_end() {
  if (state_ == State::busy && answer_begun_) {
    parser_->put_end();
    if (parser_->done()) return finish();
  }
  if (state_ == State::busy)
    fail_call(answer_begun_ ? "the peer closed the connection in mid-answer" : "the peer closed the connection", true);
  else
    close();
}

void ClientConnection::fail_call(const std::string& why, bool closed_by_peer) {
  const auto self = shared_from_this();
  const auto call = std::move(call_);
  const auto owner = owner_.lock();
  const bool idle_race =
      closed_by_peer && reused_ && !answer_begun_ && call && !call->retried && !call->observed.over();
  const bool again = owner && idle_race && (call->repeatable || !sent_some_);
  if (again) {
    call->retried = true;
    return leave(call);
  }
  if (call) call->observed.end(fail(Reason::service_unavailable, where() + ": " + why));
  if (call && owner) owner->on_call_over(*call);
  leave(nullptr);
}

// Idle and ending -----------------------------------------------------------------------------------------------------

bool ClientConnection::is_alive() {
  if (state_ != State::idle) return false;
  char byte;
  const auto done = stream_->read(&byte, 1);  // session tickets are taken in passing; anything else ends it
  return done.io == Io::want_read;
}

void ClientConnection::rest(std::chrono::milliseconds idle_timeout) {
  set_timer(idle_timeout, [this] { close(); });
}

void ClientConnection::close() {
  if (stream_ && state_ == State::idle) stream_->shutdown_writing();
  call_.reset();
  leave(nullptr);
}

void ClientConnection::leave(std::shared_ptr<ClientCall> again) {
  if (std::exchange(state_, State::over) == State::over) return;
  const auto self = shared_from_this();
  resolving_.reset();
  loop_.cancel(std::exchange(timer_, 0));
  if (connecting_) loop_.forget_fd(connecting_.get());
  connecting_.reset();
  if (stream_) loop_.forget_fd(stream_->fd());
  stream_.reset();
  output_.clear();
  if (const auto owner = owner_.lock()) owner->on_over(self, std::move(again));
}

void ClientConnection::settle() {
  if (state_ != State::busy && state_ != State::idle) return;
  const std::uint32_t output = write_blocked_ || read_wants_write_ ? EPOLLOUT : 0u;
  const bool quiet = paused() && output == 0;
  if (std::exchange(unwatched_, quiet) != quiet) quiet ? loop_.forget_fd(stream_->fd()) : watch();
  if (!quiet) loop_.change_fd(stream_->fd(), (paused() ? 0u : EPOLLIN) | output);
}

void ClientConnection::on_pause() {
  if (state_ != State::busy) return;
  if (!paused()) return on_events(EPOLLIN);  // also for what TLS holds already
  settle();
}

void ClientConnection::set_timer(std::chrono::milliseconds time, std::function<void()> task) {
  loop_.cancel(timer_);
  timer_ = loop_.after(time, [weak = weak_from_this(), task = std::move(task)] {
    const auto self = weak.lock();
    if (!self) return;
    self->timer_ = 0;
    task();
  });
}

}  // namespace sublet::net
