// LastWriters: remembers which user wrote an object, and with which request, so that the syncer's log can name the
// person behind a write to the host (sublet/syncer/host_audit.h). Nothing of it is stored or shown in objects.
//
// The server calls wrote() for each commit. The syncer asks after the host has answered, by
// POST /sublet.dev/v1/writers {"items":[{"key":"pods/ns/name","resourceVersion":"7"}]} on the unix socket. The answer
// is
// {"items":[{"user":"jane","requestId":"..."}]}, in the order of the question; {} where the writer is not known (the
// server was restarted since, or kWritesMax other writes followed). "resourceVersion" is the version that was carried:
// its writer is the last one up to it; "" asks for the last writer of an object that is gone. Writes of the syncer
// itself (status, addresses) do not count, nor do events and leases, which are never carried.
// Lifecycle: must outlive the handler that it wraps, and its server. Threads: any.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "sublet/net/http.h"
#include "sublet/store/store.h"

namespace sublet::apiserver {

class LastWriters {
 public:
  struct Writer {
    std::string user, request_id;
  };
  static constexpr std::size_t kWritesMax = 8192, kWritesOfOneMax = 64;

  LastWriters();
  ~LastWriters();
  void wrote(const std::string& key, store::Revision revision, std::string_view user, std::string_view request_id);
  /// Revision 0: the last writer of all.
  std::optional<Writer> writer_of(const std::string& key, store::Revision revision) const;
  /// Serves the path above; passes other requests to `inner`.
  net::Handler wrap(net::Handler inner);

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace sublet::apiserver
