// Pipeline: many requests in flight over one Client without a thread each; answers come on a loop.
//
// send() never blocks: requests beyond `in_flight_max` wait in line, urgent ones before the others. With a server that
// commits in groups, 64 writes in flight cost about as many disk syncs as one. Requests are started in the order of
// their line but may be answered in any order: what must follow a write is sent from its callback. Lifecycle: the
// destructor cancels what is in flight and waiting; no callback runs afterwards. Not from a callback. Threads: send()
// from any thread; callbacks on the loop's thread.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "sublet/kube/client.h"
#include "sublet/net/loop.h"

namespace sublet::kube {

class Pipeline {
 public:
  /// The answer's body when the code is 2xx, else the Status.
  using Done = std::function<void(Result<std::string>)>;
  enum class Line { urgent, background };

  Pipeline(net::Loop& loop, const Client& client, std::size_t in_flight_max = 64);
  ~Pipeline();

  /// `request` as Client's *_request() builds it. `done` may be empty.
  void send(net::Request request, Done done, Line line = Line::urgent);
  /// Requests waiting or in flight.
  std::size_t depth() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace sublet::kube
