// BodySource: a long answer that is made in steps while the peer reads. answer_in_steps() pulls one piece per turn of
// the exchange's loop. It pauses while the sink is full (ResponseSink::wants_more()), continues when the sink has
// drained, and stops when the peer leaves. So an answer of any length takes one full sink of memory and delays other
// work of the loop by one step.
//
// Lifecycle: the source is destroyed when it failed, when its reader has gone, or when it ended and all but one step's
// bytes are read. So it holds a request's seats for as long as its answer takes memory. Threads: next() runs on the
// exchange's loop, never two calls at once; wake() from any thread. A watch pushes its events instead and uses the same
// signal: it writes while wants_more() and continues at on_drain().
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "sublet/base/status.h"
#include "sublet/net/http.h"

namespace sublet::net {

/// The approximate size of one step's piece.
inline constexpr std::size_t kStepBytes = 64 * 1024;

/// Wakes a source that had no bytes to give.
class Waker {
 public:
  virtual ~Waker() = default;
  /// Calls next() again. Hold the Waker until then: when its last holder releases it, the answer is aborted.
  virtual void wake() = 0;
};

class BodySource {
 public:
  enum class Step {
    more,  // call again after other work of the loop; `out` may be empty (a step that only searched)
    wait,  // `out` is all there is now; the waker is called when there is more
    end,   // `out` has the last bytes, or none
  };
  virtual ~BodySource() = default;
  /// Appends the next piece to `out` (empty). An error after the first piece ends the connection without an end of the
  /// message: a truncated answer never looks whole.
  virtual Result<Step> next(std::string& out, const std::shared_ptr<Waker>& waker) = 0;
  /// Called once, after the first piece was made and before it is sent, for headers that depend on it.
  virtual void add_headers(Headers&) {}
};

/// Answers the sink's request with the source's bytes: whole, with Content-Length, when the first piece is the last,
/// else as a stream. `refuse` gets an error that comes before the first piece, and answers the request.
/// From any thread; on the exchange's own loop the first step is taken at once.
void answer_in_steps(std::shared_ptr<ResponseSink> sink, int code, Headers headers, std::unique_ptr<BodySource> source,
                     std::function<void(const Status&)> refuse);

}  // namespace sublet::net
