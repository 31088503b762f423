#include "apiserver/admission/relayed_answer.h"

#include <utility>

#include "sublet/kube/pod_proxy.h"
#include "sublet/net/courier.h"

namespace sublet::apiserver {

void answer_unreached(net::ResponseSink& sink, const std::string& why) {
  sink.respond(503, {{"Content-Type", "text/plain; charset=utf-8"}, {"X-Content-Type-Options", "nosniff"}},
               "error trying to reach service: " + why + "\n");
}

void RelayedAnswer::start(net::Transport& transport, net::Request request,
                          const std::shared_ptr<net::ResponseSink>& sink) {
  const std::shared_ptr<RelayedAnswer> answer(new RelayedAnswer(sink));
  {
    const MutexLock lock(answer->mutex_);
    answer->held_ = sink;
  }
  sink->on_close([answer] { answer->leave(); });
  sink->on_drain([weak = std::weak_ptr(answer)] {
    if (const auto self = weak.lock()) self->go_on();
  });
  answer->keep(transport.start(std::move(request), answer, std::chrono::milliseconds(0)));
}

void RelayedAnswer::keep(std::unique_ptr<net::Exchange> exchange) {
  std::shared_ptr<net::Exchange> unwanted;
  const MutexLock lock(mutex_);
  (over_ ? unwanted : exchange_) = std::move(exchange);
}

void RelayedAnswer::on_head(int code, const net::Headers& headers) {
  const auto sink = sink_.lock();
  if (!sink) return;
  {
    const MutexLock lock(mutex_);
    begun_ = true;
  }
  sink->start(code, kube::proxied_answer_headers(headers, false));
}

void RelayedAnswer::on_body(std::string_view chunk) {
  const auto sink = sink_.lock();
  if (!sink) return;
  sink->write(std::make_shared<const std::string>(chunk));
  if (sink->wants_more()) return;
  std::shared_ptr<net::Exchange> exchange;
  {
    const MutexLock lock(mutex_);
    exchange = exchange_;
  }
  if (exchange) exchange->pause(true);
  if (sink->backlog() == 0) go_on();  // it was read meanwhile
}

void RelayedAnswer::on_end(Outcome outcome) {
  bool begun = false;
  {
    const MutexLock lock(mutex_);
    begun = begun_;
  }
  const auto sink = sink_.lock();
  if (!sink) return;
  if (!begun) return answer_unreached(*sink, outcome ? "no answer" : outcome.error().message);
  if (outcome)
    sink->end();
  else
    sink->abort();
}

void RelayedAnswer::go_on() {
  std::shared_ptr<net::Exchange> exchange;
  {
    const MutexLock lock(mutex_);
    exchange = exchange_;
  }
  if (exchange) exchange->pause(false);
}

// An exchange is not to be destroyed from within its own callback, which the end of an answer may be.
void RelayedAnswer::leave() {
  std::shared_ptr<net::Exchange> exchange;
  std::shared_ptr<net::ResponseSink> sink;
  {
    const MutexLock lock(mutex_);
    over_ = true;
    exchange = std::move(exchange_);
    sink = std::move(held_);
  }
  if (sink) sink->courier()->post([exchange, sink] {});
}

}  // namespace sublet::apiserver
