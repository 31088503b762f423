// ContainerLog: the log of a simulated container, made from its program at each request, and the clients that follow
// one. Nothing is stored: a line becomes visible when its moment comes. Threads: the loop's.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "simhost/pod_run.h"
#include "sublet/base/clock.h"
#include "sublet/base/status.h"
#include "sublet/net/http.h"

namespace sublet::simhost {

/// The query of GET pods/NAME/log.
struct LogQuery {
  std::string container;
  bool follow = false, previous = false, timestamps = false;
  std::optional<std::int64_t> tail_lines, limit_bytes;
  std::optional<WallTime> since;
};
/// bad_request with upstream's message for malformed numbers and times.
Result<LogQuery> read_log_query(const std::string& query, WallTime now);

/// The container that is meant: the named one, or the only one. Errors as kube-apiserver and kubelet spell them.
Result<const ContainerRun*> log_container(const PodRun& run, const LogQuery& query);
/// The text up to `now` of the run that the query asks for.
std::string log_text(const ContainerRun& container, const LogQuery& query, WallTime now);

/// Readers with follow=true.
class LogFollowers {
 public:
  void add(const std::string& uid, const ContainerRun& container, LogQuery query,
           std::shared_ptr<net::ResponseSink> sink, WallTime now);
  /// Sends what is new of this pod's containers; ends the streams of those that have ended.
  void flush(const PodRun& run, WallTime now);
  /// The pod is gone.
  void end(const std::string& uid);
  /// When the next line of a followed container is due; nullopt when none is.
  std::optional<WallTime> next_line(const PodRun& run, WallTime now) const;

 private:
  struct Follower {
    std::string uid, container;
    LogQuery query;
    std::shared_ptr<net::ResponseSink> sink;
    WallTime sent_until;
  };
  std::vector<Follower> followers_;
};

}  // namespace sublet::simhost
