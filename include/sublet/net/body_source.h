// BodySource: a long answer, made in steps while the peer reads. answer_in_steps() pulls it: one piece at a time on the
// exchange's loop, then everything else of that loop has its turn; no piece while the sink is full
// (ResponseSink::wants_more()), and the next one when it has drained; none after the peer left. So an answer of any
// length costs its reader one full sink of memory and its neighbours one step of waiting.
//
// Lifecycle: the source is destroyed when it failed, when nobody is there to read it, or when it ended and all but a
// step's bytes are read: what it holds (a request's seats) is held for as long as its answer takes memory. Threads:
// next() comes on the exchange's loop, never two calls at once; wake() from any thread. What pushes instead of being
// pulled (a watch: its events come when they come) uses the same signal: write while wants_more(), stop when it says
// no, go on at on_drain().
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "sublet/base/status.h"
#include "sublet/net/http.h"

namespace sublet::net {

/// About as much as one step should give; a little more is fine.
inline constexpr std::size_t kStepBytes = 64 * 1024;

/// How a source that had nothing to give says that it has.
class Waker {
 public:
  virtual ~Waker() = default;
  /// Asks the source again. Whoever is to call it holds the Waker until then: when all let go of it, nobody can ever
  /// wake the source, and the answer is broken off.
  virtual void wake() = 0;
};

class BodySource {
 public:
  enum class Step {
    more,  // ask again after the others had their turn; `out` may be empty (a step that only searched)
    wait,  // `out` is all there is now; the waker is called when there is more
    end,   // `out` has the last bytes, or none
  };
  virtual ~BodySource() = default;
  /// Appends the next piece to `out` (empty). An error after the first piece ends the connection without an end of the
  /// message: a truncated answer never looks whole.
  virtual Result<Step> next(std::string& out, const std::shared_ptr<Waker>& waker) = 0;
  /// Called once, after the first piece was made and before it is sent: headers that depend on it.
  virtual void add_headers(Headers&) {}
};

/// Answers the sink's request with the source's bytes: whole, with Content-Length, when the first piece is the last,
/// else as a stream. `refuse` gets an error that comes before the first piece, and answers the request.
/// From any thread; on the exchange's own loop the first step is taken at once.
void answer_in_steps(std::shared_ptr<ResponseSink> sink, int code, Headers headers, std::unique_ptr<BodySource> source,
                     std::function<void(const Status&)> refuse);

}  // namespace sublet::net
