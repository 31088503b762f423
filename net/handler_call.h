// call_handler: the seam between a transport and a handler. An exception that escapes becomes an answer, never a crash;
// a sink that is dropped without an answer gets one, so that no client waits for ever.
// status_body: the Status body for failures that the transport itself finds. `message` needs no JSON escaping.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "sublet/base/status.h"
#include "sublet/net/http.h"

namespace sublet::net {

std::string status_body(int code, Reason reason, std::string_view message);

class OwnedSink : public ResponseSink {
 public:
  /// The handler's last reference is gone: answer 500 when nothing was said, break off an unfinished stream.
  virtual void abandon() = 0;
};

void call_handler(const Handler& handler, Request request, const std::shared_ptr<OwnedSink>& sink);

}  // namespace sublet::net
