// HostAudit: what a virtual cluster has changed on its host: a record of every write, and of every session in a pod,
// that went through a transport, whatever in the syncer sent it, in a log that cannot be edited unnoticed.
//
// Each write carries an Audit-ID of ours, which the host writes into its own audit log: the two can be held against
// each other. A record is one line of JSON: {"seq", "time", "virtualCluster", "uid", "user" (who the host knows us as),
// "requestId", "verb", "path", "code" (0: no answer), "hostUid", "tenant": {"namespace", "name", "uid", "resource",
// "user", "requestId"} (whom the object stands for, and which of the tenant's users asked for it by which request, as
// far as that is known), "previous"}; "previous" is the SHA-256 of the line before it, so that
// a line that is changed, taken out or put in breaks the chain. What was cut off at the end shows only against a hash
// that was kept elsewhere (AuditCheck::head).
//
// Files host-writes.NNNNNN.jsonl, 0600, in a folder of their own, the oldest removed when there are more than
// files_max. Lines are written by a thread of the log's own, moments after the answer; not synced, so that no write to
// the host waits for a disk: a power cut may take the last seconds, which the host's log has. When the disk takes no
// more, that is logged and the syncer goes on; the next record that the disk takes says how many it did not ("lost").
//
// Whoever writes to the host says why by a CauseScope on its thread: the tenant's object in the version that it
// carries, or the user where the request is at hand (exec). For the former the log asks `writers`, on its own thread
// after the host has answered, so that no write waits for it. A record without "user" is of a write that nobody asked
// for (a token's renewal), or whose asker the tenant's API server does not remember (apiserver::LastWriters).
//
// Lifecycle: open(), then record() any number of transports; the destructor writes what waits. What record() gave may
// outlive the log, and is then no longer recorded. Threads: any.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sublet/base/clock.h"
#include "sublet/base/status.h"
#include "sublet/net/http.h"

namespace sublet::syncer {

/// Why something is written to the host.
struct WriteCause {
  std::string key{};                 // the tenant's object: "pods/ns/name", "ingresses.networking.k8s.io/ns/name"
  std::string resource_version{};    // what is carried of it; "": it is gone
  std::string user{}, request_id{};  // who asked, when that is known already
};
std::string cause_key(std::string_view group, std::string_view resource, std::string_view namespace_name,
                      std::string_view name);

/// What this thread begins to write while it lives is for that cause. They nest.
class CauseScope {
 public:
  explicit CauseScope(WriteCause cause);
  ~CauseScope();
  CauseScope(const CauseScope&) = delete;
  CauseScope& operator=(const CauseScope&) = delete;
  /// Of the innermost of this thread, from here on; without one nothing happens.
  static void change(WriteCause cause);
  static const WriteCause* current();  // null: none

 private:
  WriteCause cause_;
  CauseScope* const outer_;
};

struct TenantWriter {
  std::string user, request_id;  // "": not known
};
/// One for each cause in their order, or fewer when there is no answer. May block for a moment.
using TenantWriters = std::function<std::vector<TenantWriter>(const std::vector<WriteCause>&)>;
/// Asks a tenant's API server (sublet/apiserver/last_writers.h) over its unix socket.
TenantWriters ask_tenant(std::shared_ptr<net::Transport> tenant);

struct HostAuditOptions {
  std::string folder;
  std::string virtual_cluster, virtual_cluster_uid, user;
  std::size_t file_bytes_max = 16u << 20;
  std::size_t files_max = 8;
  const Clock* clock = &Clock::system();
  TenantWriters writers = nullptr;
};

class HostAudit {
 public:
  /// Goes on with the log that is in the folder.
  static Result<std::unique_ptr<HostAudit>> open(HostAuditOptions options);
  ~HostAudit();

  std::shared_ptr<net::Transport> record(std::shared_ptr<net::Transport> host);
  /// Returns when all that was answered until now stands in the file.
  void flush();

 private:
  struct Impl;
  explicit HostAudit(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

struct AuditCheck {
  std::uint64_t first = 0, last = 0, records = 0;  // by seq; what came before `first` was removed with its file
  std::string first_time, last_time;
  std::string head;  // hash of the last line: to be kept elsewhere
};
/// Reads all of it and follows the chain. not_found: there is no log; conflict: file, line, and what is wrong, or that
/// no line has the hash `kept`, which a former check gave as its head ("": none was kept).
Result<AuditCheck> check_host_audit(const std::string& folder, const std::string& kept = {});

}  // namespace sublet::syncer
