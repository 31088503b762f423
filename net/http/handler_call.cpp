#include "net/http/handler_call.h"

#include <exception>
#include <utility>

#include "sublet/base/log.h"
#include "sublet/base/status_json.h"

namespace sublet::net {

void respond_failure(ResponseSink& sink, int code, Reason reason, std::string message) {
  Status status;
  status.reason = reason;
  status.message = std::move(message);
  status.code = code;
  sink.respond(code, {{"Content-Type", "application/json"}}, status_json(status) + "\n");
}

void respond_abandoned(ResponseSink& sink) {
  respond_failure(sink, 500, Reason::internal_error, "the request was given up without an answer");
}

namespace {

/// What the handler's references count.
struct SinkHandle {
  explicit SinkHandle(std::shared_ptr<OwnedSink> owned) : sink(std::move(owned)) {}
  SinkHandle(const SinkHandle&) = delete;
  SinkHandle& operator=(const SinkHandle&) = delete;
  ~SinkHandle() { sink->abandon(); }
  std::shared_ptr<OwnedSink> sink;
};

template <class Work>
void guarded(OwnedSink& sink, const Work& work) {
  try {
    work();
    return;
  } catch (const std::exception& error) {
    log::error("net.handler_threw", {{"what", error.what()}});
  } catch (...) {
    log::error("net.handler_threw");
  }
  sink.abandon();
}

}  // namespace

void call_handler(const Handler& handler, Request request, const std::shared_ptr<OwnedSink>& sink) {
  const auto handle = std::make_shared<SinkHandle>(sink);
  guarded(*sink, [&] { handler(std::move(request), std::shared_ptr<ResponseSink>(handle, sink.get())); });
}

void call_with_body(const std::function<void(std::string)>& then, std::string body, OwnedSink& sink) {
  guarded(sink, [&] { then(std::move(body)); });
}

}  // namespace sublet::net
