#include "sublet/net/http_client.h"

#include <algorithm>
#include <deque>
#include <unordered_set>
#include <utility>
#include <vector>

#include "net/client/client_connection.h"

namespace sublet::net {
namespace {

// Methods that may be sent twice without a second effect (RFC 9110 9.2.2), and those that always carry a length.
constexpr std::string_view kRepeatable[] = {"GET", "HEAD", "PUT", "DELETE", "OPTIONS"};
constexpr std::string_view kWithBody[] = {"POST", "PUT", "PATCH"};

template <std::size_t N>
bool any_of(const std::string_view (&list)[N], std::string_view word) {
  return std::find(std::begin(list), std::end(list), word) != std::end(list);
}

bool has_break(std::string_view text) { return text.find_first_of(std::string_view("\r\n\0", 3)) != text.npos; }

/// Refuses bytes that would change how the request is framed.
Outcome check(const Request& request) {
  const auto visible = [](std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c != 0x7f; });
  };
  if (!visible(request.method)) return bad_request("request method is empty or holds a space or control character");
  const bool target_good = !request.target.empty() && request.target.front() == '/' &&
                           std::none_of(request.target.begin(), request.target.end(),
                                        [](char c) { return (c >= 0 && c <= ' ') || c == 0x7f; });
  if (!target_good) return bad_request("request target is not a path, or holds a space or control character");
  for (const auto& [name, value] : request.headers)
    if (!visible(name) || has_break(value)) return bad_request("request header " + name + " is malformed");
  return {};
}

std::string host_field(const Endpoint& endpoint) {
  if (!endpoint.unix_path.empty()) return "localhost";
  const bool v6 = endpoint.host.find(':') != std::string::npos;
  const bool usual = endpoint.port == (endpoint.tls ? 443 : 80);
  std::string text = v6 ? "[" + endpoint.host + "]" : endpoint.host;
  return usual ? text : text + ":" + std::to_string(endpoint.port);
}

std::string head_text(const Request& request, const std::string& host) {
  std::string text;
  text.reserve(512);
  text.append(request.method).append(" ").append(request.target).append(" HTTP/1.1\r\n");
  if (!request.headers.has("host")) text.append("Host: ").append(host).append("\r\n");
  for (const auto& [name, value] : request.headers) {
    const bool framing = name.size() == 14 || name.size() == 17;  // lengths of the two names that are ours
    if (framing && (Headers{{name, ""}}.has("content-length") || Headers{{name, ""}}.has("transfer-encoding")))
      continue;
    text.append(name).append(": ").append(value).append("\r\n");
  }
  if (!request.body.empty() || any_of(kWithBody, request.method))
    text.append("Content-Length: ").append(std::to_string(request.body.size())).append("\r\n");
  return text += "\r\n";
}

/// What the loop's thread knows: connections, the idle among them, and calls in line.
class Pool final : public ClientConnection::Owner, public std::enable_shared_from_this<Pool> {
 public:
  Pool(Loop& loop, Endpoint endpoint, HttpClientOptions options)
      : loop_(loop), endpoint_(std::make_shared<const Endpoint>(std::move(endpoint))), options_(std::move(options)) {}

  Loop& loop() { return loop_; }
  const Endpoint& endpoint() const { return *endpoint_; }

  // The loop's thread:
  void submit(const std::shared_ptr<ClientCall>& call, std::chrono::milliseconds timeout) {
    if (call->observed.over()) return;
    if (timeout.count() > 0)
      call->timer = loop_.after(timeout, [self = shared_from_this(), weak = std::weak_ptr(call)] {
        if (const auto late = weak.lock()) self->expire(late);
      });
    waiting_.push_back(call);
    serve();
  }

  void cancel(const std::shared_ptr<ClientCall>& call) {
    loop_.cancel(std::exchange(call->timer, 0));
    std::erase(waiting_, call);
    if (const auto connection = carrier(call)) connection->close();
  }

  void pause(const std::shared_ptr<ClientCall>& call, bool paused) {
    if (std::exchange(call->paused, paused) == paused) return;
    if (const auto connection = carrier(call)) connection->on_pause();
  }

  /// The client is gone: idle connections go, running calls finish.
  void retire() {
    retired_ = true;
    const auto idle = std::exchange(idle_, {});
    for (const auto& connection : idle) connection->close();
  }

  void on_idle(const std::shared_ptr<ClientConnection>& connection) override {
    if (retired_ && waiting_.empty()) return connection->close();
    idle_.push_back(connection);
    connection->rest(options_.idle_timeout);
    serve();
    if (idle_.size() <= options_.idle_connections_max) return;
    const auto oldest = idle_.front();
    idle_.erase(idle_.begin());
    oldest->close();
  }

  void on_over(const std::shared_ptr<ClientConnection>& connection, std::shared_ptr<ClientCall> again) override {
    connections_.erase(connection);
    std::erase(idle_, connection);
    if (again) {
      // The other idle ones met the same end; the retry goes over a new connection.
      const auto stale = std::exchange(idle_, {});
      for (const auto& other : stale) other->close();
      waiting_.push_front(std::move(again));
    }
    // Not from within the closing connection's calls: they may come one after the other.
    if (!waiting_.empty()) loop_.post([self = shared_from_this()] { self->serve(); });
  }

  void on_call_over(const ClientCall& call) override { loop_.cancel(call.timer); }

 private:
  void expire(const std::shared_ptr<ClientCall>& call) {
    call->timer = 0;
    call->observed.end(fail(Reason::timeout, "no complete answer within the time limit"));
    cancel(call);
  }

  void serve() {
    while (!waiting_.empty()) {
      if (auto connection = take_idle()) {
        const auto call = next_call();
        connection->send(call);
      } else if (connections_.size() < options_.connections_max) {
        const auto call = next_call();
        auto fresh = std::make_shared<ClientConnection>(loop_, weak_from_this(), endpoint_, options_.may_connect);
        connections_.insert(fresh);
        fresh->open(call, options_.connect_timeout);
      } else {
        return;
      }
    }
  }

  std::shared_ptr<ClientConnection> carrier(const std::shared_ptr<ClientCall>& call) const {
    const auto carrying = std::find_if(connections_.begin(), connections_.end(),
                                       [&](const auto& connection) { return connection->call() == call; });
    return carrying == connections_.end() ? nullptr : *carrying;
  }

  std::shared_ptr<ClientCall> next_call() {
    auto call = std::move(waiting_.front());
    waiting_.pop_front();
    return call;
  }

  /// The newest idle connection that still lives.
  std::shared_ptr<ClientConnection> take_idle() {
    while (!idle_.empty()) {
      auto connection = std::move(idle_.back());
      idle_.pop_back();
      if (connection->is_alive()) return connection;
      connection->close();
    }
    return nullptr;
  }

  Loop& loop_;
  const std::shared_ptr<const Endpoint> endpoint_;
  const HttpClientOptions options_;
  bool retired_ = false;
  std::unordered_set<std::shared_ptr<ClientConnection>> connections_;  // all
  std::vector<std::shared_ptr<ClientConnection>> idle_;                // oldest first
  std::deque<std::shared_ptr<ClientCall>> waiting_;
};

class HttpExchange final : public Exchange {
 public:
  HttpExchange(std::shared_ptr<Pool> pool, std::shared_ptr<ClientCall> call)
      : pool_(std::move(pool)), call_(std::move(call)) {}
  ~HttpExchange() override {
    if (call_->observed.over()) return;
    call_->observed.cancel();
    pool_->loop().post([pool = pool_, call = call_] { pool->cancel(call); });
  }
  void pause(bool paused) override {
    pool_->loop().post([pool = pool_, call = call_, paused] { pool->pause(call, paused); });
  }

 private:
  std::shared_ptr<Pool> pool_;
  std::shared_ptr<ClientCall> call_;
};

class HttpClient final : public Transport {
 public:
  HttpClient(Loop& loop, Endpoint endpoint, HttpClientOptions options)
      : pool_(std::make_shared<Pool>(loop, std::move(endpoint), std::move(options))),
        host_(host_field(pool_->endpoint())) {}
  ~HttpClient() override {
    pool_->loop().post([pool = pool_] { pool->retire(); });
  }

  std::unique_ptr<Exchange> start(Request request, std::shared_ptr<ResponseObserver> observer,
                                  std::chrono::milliseconds timeout) override {
    const bool upgrades = dynamic_cast<UpgradeObserver*>(observer.get()) != nullptr && request.headers.has("upgrade");
    auto call = std::make_shared<ClientCall>(std::move(observer));
    auto exchange = std::make_unique<HttpExchange>(pool_, call);
    if (const auto good = check(request); !good) {
      pool_->loop().post([call, good] { call->observed.end(good); });
      return exchange;
    }
    call->is_head = request.method == "HEAD";
    call->repeatable = any_of(kRepeatable, request.method);
    call->may_upgrade = upgrades;
    call->head = std::make_shared<const std::string>(head_text(request, host_));
    if (!request.body.empty()) call->body = std::make_shared<const std::string>(std::move(request.body));
    pool_->loop().post([pool = pool_, call, timeout] { pool->submit(call, timeout); });
    return exchange;
  }

 private:
  const std::shared_ptr<Pool> pool_;
  const std::string host_;
};

}  // namespace

std::shared_ptr<Transport> make_http_client(Loop& loop, Endpoint endpoint, HttpClientOptions options) {
  return std::make_shared<HttpClient>(loop, std::move(endpoint), std::move(options));
}

}  // namespace sublet::net
