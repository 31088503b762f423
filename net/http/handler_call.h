// call_handler: the seam between a transport and a handler. An exception that escapes becomes an answer, never a crash;
// a sink that is dropped without an answer gets one, so that no client waits for ever.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "sublet/base/status.h"
#include "sublet/net/http.h"

namespace sublet::net {

class OwnedSink : public ResponseSink {
 public:
  /// The handler's last reference is gone: answers 500 when there was no answer, aborts an unfinished stream.
  virtual void abandon() = 0;
};

/// A failure that the transport itself finds.
void respond_failure(ResponseSink& sink, int code, Reason reason, std::string message);
/// The answer of abandon() when the handler gave none.
void respond_abandoned(ResponseSink& sink);

void call_handler(const Handler& handler, Request request, const std::shared_ptr<OwnedSink>& sink);
/// The rest of a handler's work, with the body that it asked for.
void call_with_body(const std::function<void(std::string)>& then, std::string body, OwnedSink& sink);

}  // namespace sublet::net
