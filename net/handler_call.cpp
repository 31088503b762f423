#include "net/handler_call.h"

#include <exception>

#include "sublet/base/log.h"

namespace sublet::net {

std::string status_body(int code, Reason reason, std::string_view message) {
  std::string body = R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":")";
  body.append(message).append(R"(","reason":")").append(reason_name(reason)).append(R"(","code":)");
  return body.append(std::to_string(code)).append("}\n");
}

namespace {

/// What the handler's references count.
struct Handle {
  explicit Handle(std::shared_ptr<OwnedSink> owned) : sink(std::move(owned)) {}
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() { sink->abandon(); }
  std::shared_ptr<OwnedSink> sink;
};

}  // namespace

void call_handler(const Handler& handler, Request request, const std::shared_ptr<OwnedSink>& sink) {
  const auto handle = std::make_shared<Handle>(sink);
  try {
    handler(std::move(request), std::shared_ptr<ResponseSink>(handle, sink.get()));
    return;
  } catch (const std::exception& error) {
    log::error("net.handler_threw", {{"what", error.what()}});
  } catch (...) {
    log::error("net.handler_threw");
  }
  sink->abandon();
}

}  // namespace sublet::net
