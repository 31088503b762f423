// ClientConnection: one connection of an HttpClient, from connect() to the last answer, as a state machine on the
// loop's thread. It carries one call at a time and calls its owner when it can carry another.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "net/http/h1_parser.h"
#include "net/http/observed_call.h"
#include "net/socket/output_queue.h"
#include "net/socket/resolver.h"
#include "net/socket/stream.h"
#include "sublet/net/endpoint.h"
#include "sublet/net/loop.h"

namespace sublet::net {

/// A request under way. `head` and `body` stay until the answer begins, for the one retry.
struct ClientCall {
  explicit ClientCall(std::shared_ptr<ResponseObserver> observer) : observed(std::move(observer)) {}
  ObservedCall observed;
  std::shared_ptr<const std::string> head, body;
  bool is_head = false;
  bool repeatable = false;   // the method may be sent twice
  bool may_upgrade = false;  // the observer takes a connection that leaves HTTP
  bool retried = false;
  bool paused = false;  // the observer takes nothing for now; the loop's thread only
  Loop::TimerId timer = 0;
};

class ClientConnection final : public std::enable_shared_from_this<ClientConnection>, private ResponseParser::Listener {
 public:
  /// How it ended with a call, or without one. All on the loop's thread.
  class Owner {
   public:
    virtual ~Owner() = default;
    /// The call is answered and the connection idle.
    virtual void on_idle(const std::shared_ptr<ClientConnection>& connection) = 0;
    /// The connection is over. `again` is an unanswered call that may be sent once more.
    virtual void on_over(const std::shared_ptr<ClientConnection>& connection, std::shared_ptr<ClientCall> again) = 0;
    /// The call's observer has heard its last.
    virtual void on_call_over(const ClientCall& call) = 0;
  };

  using MayConnect = std::function<std::string_view(const sockaddr& address)>;
  ClientConnection(Loop& loop, std::weak_ptr<Owner> owner, std::shared_ptr<const Endpoint> endpoint,
                   MayConnect may_connect = {});
  ~ClientConnection() override;

  /// Connects, then sends.
  void open(std::shared_ptr<ClientCall> call, std::chrono::milliseconds connect_timeout);
  /// Whether an idle connection can still be used.
  bool is_alive();
  void send(std::shared_ptr<ClientCall> call);
  /// Closes idle connections by themselves after that time.
  void rest(std::chrono::milliseconds idle_timeout);
  const std::shared_ptr<ClientCall>& call() const { return call_; }
  /// Ends it without a word to the call's observer.
  void close();
  /// The call's `paused` has changed.
  void on_pause();

 private:
  enum class State { connecting, handshaking, busy, idle, over };

  void on_resolved(Result<std::vector<SocketAddress>> addresses);
  void connect_next(const std::string& last_error);
  void on_connected();
  void shake_hands();
  void begin();
  void on_events(std::uint32_t events);
  void read_some();
  void take(std::string_view bytes);
  void flush();
  void finish();
  void hand_over();
  void on_peer_end();
  void fail_call(const std::string& why, bool closed_by_peer);
  void leave(std::shared_ptr<ClientCall> again);
  void settle();
  bool paused() const { return call_ && call_->paused; }
  void watch();
  void set_timer(std::chrono::milliseconds time, std::function<void()> task);
  std::string where() const;

  void on_head(int code, const Headers& headers) override;
  void on_body(std::string_view chunk) override;

  Loop& loop_;
  const std::weak_ptr<Owner> owner_;
  const std::shared_ptr<const Endpoint> endpoint_;
  const MayConnect may_connect_;

  State state_ = State::connecting;
  ResolveTicket resolving_;
  std::vector<SocketAddress> addresses_;
  std::size_t next_address_ = 0;
  Descriptor connecting_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<ResponseParser> parser_;
  std::string in_;
  OutputQueue output_;
  std::shared_ptr<ClientCall> call_;
  Loop::TimerId timer_ = 0;
  bool reused_ = false;
  bool answer_begun_ = false;
  bool sent_some_ = false;
  bool write_blocked_ = false;
  bool read_wants_write_ = false;
  bool unwatched_ = false;  // paused: the loop would report a peer that hung up again and again
};

}  // namespace sublet::net
