// H1Answer: the ResponseSink of one request on an HTTP/1.1 connection.
//
// Any thread writes into it; what is written waits here until the loop's thread takes it with drain(). The first write
// after a drain puts the connection on the core's list, so a burst of events costs one flush. After close() it is an
// empty shell that a late writer may keep.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "net/http/handler_call.h"
#include "net/server/serving_loop.h"
#include "net/socket/output_queue.h"
#include "sublet/base/mutex.h"
#include "sublet/net/duplex.h"
#include "sublet/net/http.h"

namespace sublet::net {

class H1Answer final : public OwnedSink, public UpgradableSink {
 public:
  struct Shape {
    bool is_head = false;      // answer without body
    bool is_http_1_0 = false;  // no chunks: a stream ends with the connection
    bool keep_alive = true;
  };
  /// Starts as scheduled: the connection drains it after the handler's return.
  H1Answer(std::shared_ptr<ServingLoop> core, std::shared_ptr<ServerConnection> connection, Shape shape);

  void respond(int code, Headers headers, std::string body) override;
  void start(int code, Headers headers) override;
  void write(std::shared_ptr<const std::string> bytes) override;
  void end() override;
  void abort() override;
  std::size_t backlog() const override { return backlog_; }
  bool closed() const override { return closed_; }
  void on_close(std::function<void()> callback) override;
  void on_drain(std::function<void()> callback) override;
  const std::shared_ptr<Courier>& courier() const override { return core_->courier; }
  void read_body(std::function<void(std::string)> then) override;
  void peer_is_known() override;
  void abandon() override;
  void upgrade(Headers headers, std::function<void(std::shared_ptr<Duplex>)> then) override;

  // For the connection, on the loop's thread:
  struct Drained {
    bool ended = false;
    bool aborted = false;
    bool keep_alive = true;
    std::function<void(std::shared_ptr<Duplex>)> upgraded = {};  // gets the connection after the head was sent
  };
  Drained drain(OutputQueue& output);
  /// Whether the connection can carry another request, until an answer decides it.
  void keep_alive(bool keep);
  /// So many counted bytes left for the kernel.
  void sent(std::size_t bytes);
  void close();
  /// From now on that is whom abort() reaches, also one that came since the last drain().
  void move_to(std::shared_ptr<ServerConnection> connection);

 private:
  enum class Phase { waiting, streaming, upgraded, ended };
  /// The connection that has to be flushed: by flush(), without the lock.
  std::shared_ptr<ServerConnection> schedule() SUBLET_REQUIRES(mutex_);
  void flush(std::shared_ptr<ServerConnection> connection);
  /// Calls it on the loop's thread with the connection, as long as there is one.
  void on_connection(std::function<void(ServerConnection&)> task);
  void push(std::shared_ptr<const std::string> bytes, bool chunked, bool counted) SUBLET_REQUIRES(mutex_);
  std::string head(int code, const Headers& headers, bool streamed, std::size_t size) SUBLET_REQUIRES(mutex_);

  // own synchronisation
  std::atomic<std::size_t> backlog_{0};
  std::atomic<bool> closed_{false};

  const std::shared_ptr<ServingLoop> core_;

  Mutex mutex_;
  std::shared_ptr<ServerConnection> connection_ SUBLET_GUARDED_BY(mutex_);  // null once closed
  Shape shape_ SUBLET_GUARDED_BY(mutex_);
  Phase phase_ SUBLET_GUARDED_BY(mutex_) = Phase::waiting;
  bool scheduled_ SUBLET_GUARDED_BY(mutex_) = true;
  bool aborted_ SUBLET_GUARDED_BY(mutex_) = false;
  std::vector<OutputItem> items_ SUBLET_GUARDED_BY(mutex_);
  std::function<void(std::shared_ptr<Duplex>)> upgraded_ SUBLET_GUARDED_BY(mutex_);
  std::function<void()> on_close_ SUBLET_GUARDED_BY(mutex_), on_drain_ SUBLET_GUARDED_BY(mutex_);
};

}  // namespace sublet::net
