// LastWriters: which user wrote an object, and by which request, for as long as a syncer may want to know: it writes to
// the host for an object, and its log there is to say for whom (sublet/syncer/host_audit.h). Nothing of it stands in
// objects, is stored, or is sent to anybody who does not ask.
//
// The server tells wrote() of each commit. The syncer asks aside, after the host has answered, by
// POST /sublet.dev/v1/writers {"items":[{"key":"pods/ns/name","resourceVersion":"7"}]} on the unix socket; the answer
// is
// {"items":[{"user":"jane","requestId":"..."}]}, one for each in their order, {} where nothing is known (the server was
// started since, or kWritesMax others came after it). "resourceVersion" is the version that was carried: its writer is
// the last one up to it; "": the object is gone, and whoever wrote it last, its deletion as a rule. What the syncer
// itself writes (status, addresses) is not counted, nor are events and leases, which never cross. Lifecycle: must
// outlive the handler that it wraps, and the server that has it. Threads: any.
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
  /// 0: the last of all.
  std::optional<Writer> writer_of(const std::string& key, store::Revision revision) const;
  /// Serves the path, and passes everything else on.
  net::Handler wrap(net::Handler inner);

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace sublet::apiserver
