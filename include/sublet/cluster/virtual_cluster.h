// VirtualCluster: what a virtual cluster is: name, host, template, parameters, limits, addresses. A driver keeps it as
// its record; the daemons read it. It does not say where its files are: a driver that has files knows that
// (local_layout.h), and others have none.
//
// The record is JSON in format 1. A record of a later format is refused by name.
// Threads: plain data and pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "sublet/base/status.h"
#include "sublet/syncer/translate.h"

namespace sublet::cluster {

/// Limits of its store. Unset: the API server's default; 0: no limit.
/// A limit of objects below kQuotaObjectsMin does not hold the virtual cluster's own objects (upstream's roles and
/// bindings, namespaces, accounts: about 150), and a limit of bytes below kQuotaBytesMin does not hold their JSON.
inline constexpr std::int64_t kQuotaObjectsMin = 200;
inline constexpr std::int64_t kQuotaBytesMin = std::int64_t{1} << 20;
struct Quota {
  std::optional<std::int64_t> objects, bytes;
  bool given() const { return objects || bytes; }
  bool operator==(const Quota&) const = default;
};

/// How pods on the host reach the API server and the DNS server of their virtual cluster. Not given: pods get the
/// address on which the API server listens, and use the node's resolver.
struct PodAccess {
  std::string address;  // IP address by which pods reach this machine (or the pod that runs the daemons)
  std::string listen;   // IP address on which the daemons listen for them: `address`, or one that NAT leads to
  int dns_port = 0;
  std::string service_address;  // cluster IP of the Service on the host that leads here; assigned by the host
  bool given() const { return !address.empty(); }
  bool operator==(const PodAccess&) const = default;
};

struct VirtualCluster {
  std::string name, uid;
  std::string host_namespace;
  std::string host_context;  // as in context names: the host kubeconfig's context, or "embedded"
  // The operator's kubeconfig; read again to start and to delete it. "": the embedded host, or an earlier version's
  // record.
  std::string host_kubeconfig{};
  bool embedded_host = false;
  std::string created;               // RFC 3339
  std::string listen;                // address:port of the API server; fixed at create, because kubeconfigs name it
  std::string host_service_account;  // without rights, in the host namespace
  std::string template_file;         // where the template came from, for people
  std::map<std::string, std::string> parameters;
  bool lenient = false;   // unsupported keys of the template are ignored
  bool deleting = false;  // its deletion has begun: it is not started again
  Quota quota;
  PodAccess pod_access;

  std::string template_text{};  // as it was given; "": none. Kept beside the record, not in its JSON

  int listen_port() const;
  std::string to_json() const;
  static Result<VirtualCluster> from_json(std::string_view json);
};

/// The border's context: the record and its template, resolved. Errors are those of the template.
Result<syncer::TranslateContext> translate_context(const VirtualCluster& cluster);

/// The syncer's ServiceAccount in the host namespace, and its user name on the host
/// ("system:serviceaccount:team:sublet-syncer-rag").
std::string syncer_account(const VirtualCluster& cluster);
std::string syncer_user(const VirtualCluster& cluster);

/// `<label>=<uid>`: selects the host objects of this virtual cluster.
std::string host_selector(const VirtualCluster& cluster);

}  // namespace sublet::cluster
