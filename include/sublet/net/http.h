// HTTP messages and the two callback interfaces of every transport: ResponseSink (answers of a server) and
// ResponseObserver (answers to a client). No sockets here: the in-process transport uses the same types.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sublet/base/status.h"

namespace sublet::net {

class Courier;
class Loop;

/// Header fields in order; names compare without case.
class Headers {
 public:
  Headers() = default;
  Headers(std::initializer_list<std::pair<std::string, std::string>> fields) : fields_(fields) {}
  void add(std::string name, std::string value) { fields_.emplace_back(std::move(name), std::move(value)); }
  /// Replaces all fields of that name by one.
  void set(std::string name, std::string value);
  /// First value, or "".
  std::string_view get(std::string_view name) const;
  bool has(std::string_view name) const;
  std::vector<std::string_view> all(std::string_view name) const;
  auto begin() const { return fields_.begin(); }
  auto end() const { return fields_.end(); }
  std::size_t size() const { return fields_.size(); }

 private:
  std::vector<std::pair<std::string, std::string>> fields_;
};

/// The identity of a connection's peer, as far as the transport proves it.
struct PeerIdentity {
  enum class Kind { anonymous, certificate, unix_socket, in_process } kind = Kind::anonymous;
  // certificate: verified against the server's client CA with clientAuth usage
  std::string common_name;
  std::vector<std::string> organizations;
  std::string sha256;  // hex of the certificate
  // unix_socket: SO_PEERCRED
  int uid = -1, pid = -1;
  std::string address;  // "127.0.0.1:4711", for logs
};

struct Request {
  std::string method;  // upper case
  std::string target;  // path and query as sent, starts with '/'
  Headers headers;
  std::string body;
  PeerIdentity peer;
  bool body_follows = false;  // the body is still with the peer: ResponseSink::read_body()

  std::string_view path() const;   // target before '?', still percent-encoded
  std::string_view query() const;  // target after '?', still percent-encoded
};

/// Percent-decoding; nullopt when malformed. `plus_is_space` for query strings.
std::optional<std::string> percent_decode(std::string_view text, bool plus_is_space = false);
std::string percent_encode(std::string_view text);  // everything but unreserved characters
/// Returns query parameters in order, decoded. Malformed escapes stay unchanged, as in Go's lenient parser.
std::vector<std::pair<std::string, std::string>> parse_query(std::string_view query);
std::string_view reason_phrase(int code);

/// Takes the answer to one request. Exactly one respond(), or start() then any number of write() then end(). Give a
/// long answer as a BodySource (body_source.h), which is pulled while the peer reads. Thread-safe; calls after the peer
/// went away do nothing. The sink may outlive the connection.
class ResponseSink {
 public:
  virtual ~ResponseSink() = default;
  /// A whole answer with Content-Length.
  virtual void respond(int code, Headers headers, std::string body) = 0;
  /// Headers of a streamed answer (chunked), sent at once.
  virtual void start(int code, Headers headers) = 0;
  /// Appends to the stream. The bytes are shared, not copied: one encoded watch frame serves every watcher.
  virtual void write(std::shared_ptr<const std::string> bytes) = 0;
  virtual void end() = 0;
  /// Resets the connection after an error in mid-stream.
  virtual void abort() = 0;
  /// Returns the bytes accepted by write() but not yet written to the kernel.
  virtual std::size_t backlog() const = 0;
  /// Returns false while the peer is so far behind that a writer should pause until on_drain().
  bool wants_more() const { return backlog() < kBacklogHigh; }
  virtual bool closed() const = 0;
  /// Called once (on the loop's thread), when the exchange is over: answered completely, or the peer went away.
  virtual void on_close(std::function<void()> callback) = 0;
  /// Called (on the loop's thread) whenever backlog() has fallen to zero. Null removes the callback.
  virtual void on_drain(std::function<void()> callback) = 0;
  /// Returns the courier of the loop that serves this exchange. A server has several loops: a peer's work in turns (the
  /// steps of a long answer, a watch's rounds, the callbacks of a commit) runs there. Two sinks are on the same loop
  /// when their couriers are the same object.
  virtual const std::shared_ptr<Courier>& courier() const = 0;
  /// Reads the body of a request with body_follows and calls `then` with all of it on the loop's thread. When the peer
  /// leaves, sends too much or is too slow, the transport answers and destroys `then` without a call. At most once, and
  /// not after an answer.
  virtual void read_body(std::function<void(std::string)> then) { then({}); }  // NOLINT: overriders keep it
  /// Marks the peer as authenticated: its connection no longer counts among the strangers (HttpServerLimits).
  virtual void peer_is_known() {}

  static constexpr std::size_t kBacklogHigh = 256 * 1024;
};

/// A server's entry. Called on a loop's thread: must not block; answer later through the sink. The body has been read,
/// unless the server calls with heads first (HttpServerLimits::heads_first).
using Handler = std::function<void(Request, std::shared_ptr<ResponseSink>)>;

/// Receives one answer for a client. Calls come in order on one thread (the loop's, or the server's for in-process).
class ResponseObserver {
 public:
  virtual ~ResponseObserver() = default;
  virtual void on_head(int code, const Headers& headers) = 0;
  virtual void on_body(std::string_view chunk) = 0;
  /// Last call. An error is a transport failure (service_unavailable, timeout), never an HTTP code.
  virtual void on_end(Outcome outcome) = 0;
};

/// A running exchange on the client's side. Destroying it cancels: afterwards no observer call runs or will run,
/// unless the destructor runs within one.
class Exchange {
 public:
  virtual ~Exchange() = default;
  /// Stops reading the answer (true), so that the peer has to wait, and continues (false). For observers that cannot
  /// take more for now. Bytes already on their way, about 256 KiB, still come. While paused, only the time limit is
  /// noticed, not the end of the answer or of the peer. Any thread.
  virtual void pause(bool paused) = 0;
};

/// Sends requests to one peer. Thread-safe.
class Transport {
 public:
  virtual ~Transport() = default;
  /// `timeout` covers the whole exchange; zero: none (watches, followed logs).
  virtual std::unique_ptr<Exchange> start(Request request, std::shared_ptr<ResponseObserver> observer,
                                          std::chrono::milliseconds timeout) = 0;
};

struct Response {
  int code = 0;
  Headers headers;
  std::string body;
};
/// Blocking call over any transport. Not from the transport's own loop thread.
Result<Response> fetch(Transport& transport, Request request, std::chrono::milliseconds timeout);

/// A transport that calls a handler without sockets: controllers and the embedded host use it. Handler and observers
/// run on `loop` (which must outlive the transport and its exchanges), or, when it is null, on one thread of the
/// transport's own; never on the thread that writes to the sink, so that a commit thread is not held up by a reader.
std::unique_ptr<Transport> make_in_process_transport(Handler handler, PeerIdentity identity, Loop* loop = nullptr);

}  // namespace sublet::net
