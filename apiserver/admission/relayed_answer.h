// RelayedAnswer: passes the answer of another server on to a client piece by piece, with back-pressure; either side may
// end it for both.
//
// Lives as long as both; the sink holds it. Threads: any.
#pragma once

#include <memory>
#include <string>

#include "sublet/base/mutex.h"
#include "sublet/net/http.h"

namespace sublet::apiserver {

/// 503 in upstream's words.
void answer_unreached(net::ResponseSink& sink, const std::string& why);

class RelayedAnswer final : public net::ResponseObserver, public std::enable_shared_from_this<RelayedAnswer> {
 public:
  static void start(net::Transport& transport, net::Request request, const std::shared_ptr<net::ResponseSink>& sink);

  void on_head(int code, const net::Headers& headers) override;
  void on_body(std::string_view chunk) override;
  void on_end(Outcome outcome) override;

 private:
  explicit RelayedAnswer(const std::shared_ptr<net::ResponseSink>& sink) : sink_(sink) {}
  void keep(std::unique_ptr<net::Exchange> exchange);
  void leave();
  void go_on();

  const std::weak_ptr<net::ResponseSink> sink_;  // which holds this by its callbacks
  Mutex mutex_;
  bool begun_ SUBLET_GUARDED_BY(mutex_) = false, over_ SUBLET_GUARDED_BY(mutex_) = false;
  std::shared_ptr<net::Exchange> exchange_ SUBLET_GUARDED_BY(mutex_);
  std::shared_ptr<net::ResponseSink> held_ SUBLET_GUARDED_BY(mutex_);  // until it is over
};

}  // namespace sublet::apiserver
