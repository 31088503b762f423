// RequestContext: the state of one request while filters and its verb run, and the means to answer it.
//
// Made by the pipeline, shared by the callbacks that answer later (commits, timers). Threads: used by one thread at a
// time; answers go through the sink, which is thread-safe. Exactly one reply_* per request.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/request/output.h"
#include "apiserver/request/request_info.h"
#include "apiserver/request/route.h"
#include "apiserver/request/seat.h"
#include "apiserver/request/server_core.h"

namespace sublet::apiserver {

struct RequestContext {
  RequestContext(std::shared_ptr<ServerCore> core_, net::Request request_, std::shared_ptr<net::ResponseSink> sink_)
      : core(std::move(core_)),
        kinds(core->kinds.get()),
        request(std::move(request_)),
        sink(std::move(sink_)),
        query(request.query()) {}
  ~RequestContext();

  std::shared_ptr<ServerCore> core;
  std::shared_ptr<const schema::Registry> kinds;  // the snapshot that this request began with, to its end
  net::Request request;
  std::shared_ptr<net::ResponseSink> sink;
  Query query;
  RequestInfo info;
  const Route* route = nullptr;
  User user;
  Output output;
  std::vector<std::string> warnings;
  std::string audit_id;
  SteadyTime received{};
  bool dry_run_in_body = false;           // of a DELETE's options
  std::atomic<int>* in_flight = nullptr;  // counter that this request holds
  Place moved_to = Place::caller;         // the workers that it runs on until it ends (verbs/placement.h)

  const schema::ResourceFacts& served() const { return *route->served; }
  const schema::ResourceFacts& storage() const { return *route->storage; }
  const Routes& routes() const { return kinds->part<Routes>(); }
  std::string key() const;
  bool dry_run() const { return dry_run_in_body || query.find("dryRun").has_value(); }

  std::shared_ptr<const FlowMark> flow;  // null: it needs no seat
  Seat seat;                             // until it ends

  /// Records the user and the request of a commit (ServerOptions::last_writers). Any thread.
  void record_writers(const store::Committed& committed) const;
  /// Counts the answer and its duration; every reply calls it once.
  void record(int code) const;
  /// Headers that every answer carries: audit id, cache rules, its flow, warnings.
  net::Headers headers(std::string_view content_type) const;
};
using ContextPtr = std::shared_ptr<RequestContext>;

/// The 405 of a method that the resource does not have, in upstream's words.
Status method_not_allowed_status();

}  // namespace sublet::apiserver
