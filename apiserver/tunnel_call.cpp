#include "apiserver/tunnel_call.h"

#include "sublet/kube/tunnel_wire.h"

namespace sublet::apiserver {

void TunnelCall::respond(int code, net::Headers headers, std::string body) {
  net::Response response{code, std::move(headers), std::move(body)};
  if (response.headers.get("Content-Type") == kube::tunnel::kCallFailed)
    return finish(fail(Reason::service_unavailable, std::move(response.body)));
  finish(std::move(response));
}

void TunnelCall::start(int code, net::Headers headers) {
  const MutexLock lock(mutex_);
  answer_.code = code;
  answer_.headers = std::move(headers);
}

void TunnelCall::write(std::shared_ptr<const std::string> bytes) {
  bool large = false;
  {
    const MutexLock lock(mutex_);
    large = answer_.body.size() + bytes->size() > kAnswerMax;
    if (!large) answer_.body += *bytes;
  }
  if (large) fail_with(fail(Reason::request_entity_too_large, "the answer is too large").value());
}

void TunnelCall::end() {
  net::Response answer;
  {
    const MutexLock lock(mutex_);
    answer = std::move(answer_);
  }
  respond(answer.code, std::move(answer.headers), std::move(answer.body));
}

void TunnelCall::abort() { fail_with(fail(Reason::service_unavailable, "the answer broke off on its way").value()); }

bool TunnelCall::closed() const {
  const MutexLock lock(mutex_);
  return !done_;
}

void TunnelCall::on_close(std::function<void()> callback) {
  const MutexLock lock(mutex_);
  closed_ = std::move(callback);
}

void TunnelCall::drop() {
  std::function<void()> closed;
  {
    const MutexLock lock(mutex_);
    if (!done_) return;
    done_ = nullptr;
    closed = std::move(closed_);
  }
  if (closed) closed();
}

void TunnelCall::fail_with(Status why) { finish(fail(std::move(why))); }

void TunnelCall::finish(Result<net::Response> response) {
  Done done;
  std::function<void()> closed;
  {
    const MutexLock lock(mutex_);
    done = std::exchange(done_, nullptr);
    closed = std::exchange(closed_, nullptr);
  }
  if (closed) closed();
  if (done) done(std::move(response));
}

}  // namespace sublet::apiserver
