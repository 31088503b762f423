// TunnelCall: the client's end of a ServiceCall through the tunnel: collects the pieces of the answer and passes the
// whole answer on, once. Internal to tunnel.cpp.
//
// Threads: any.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "sublet/base/mutex.h"
#include "sublet/net/courier.h"
#include "sublet/net/http.h"

namespace sublet::apiserver {

class TunnelCall final : public net::ResponseSink {
 public:
  using Done = std::function<void(Result<net::Response>)>;
  TunnelCall(net::Loop& loop, Done done) : courier_(std::make_shared<net::Courier>(loop)), done_(std::move(done)) {}

  void respond(int code, net::Headers headers, std::string body) override;
  void start(int code, net::Headers headers) override;
  void write(std::shared_ptr<const std::string> bytes) override;
  void end() override;
  void abort() override;
  std::size_t backlog() const override { return 0; }
  bool closed() const override;
  void on_close(std::function<void()> callback) override;
  void on_drain(std::function<void()>) override {}
  const std::shared_ptr<net::Courier>& courier() const override { return courier_; }

  /// Abandons the call and notifies the tunnel.
  void drop();
  void fail_with(Status why);

 private:
  void finish(Result<net::Response> response);

  static constexpr std::size_t kAnswerMax = 8u << 20;
  const std::shared_ptr<net::Courier> courier_;
  mutable Mutex mutex_;
  Done done_ SUBLET_GUARDED_BY(mutex_);  // null: over
  net::Response answer_ SUBLET_GUARDED_BY(mutex_);
  std::function<void()> closed_ SUBLET_GUARDED_BY(mutex_);
};

}  // namespace sublet::apiserver
