// VirtualCluster: what a virtual cluster is, and its record: the driver writes it, the daemons read it.
//
// One folder (mode 0700) a virtual cluster; every file in it 0600:
//   virtual-cluster.json   this record, in format 1; a record of a later format is refused by name, not guessed at
//   template.yaml          the template as it was given (empty: none)
//   host.kubeconfig        where the host is and how it proves itself; no credential
//   apiserver/             store, keys and admin.kubeconfig, the API server's own: it writes nowhere else
//   api.sock               where the syncer, and whoever asks for the status, reaches the API server
//   daemon.lock            held for as long as `subletd run` or a child of it lives; has its pid;
//                          `sublet create` takes it and hands it over (kDaemonLock)
//   syncer/ready           the syncer carries; its own folder
//   syncer/audit/          what the syncer has changed on the host (syncer/host_audit.h)
//   syncer/host-token.json what the syncer is known by on the host (kube/account_token.h); it renews it
//   run.log, apiserver.log, syncer.log, dns.log (where pods have access)
// Threads: plain data and pure functions over files.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "sublet/base/status.h"
#include "sublet/syncer/translate.h"

namespace sublet::cluster {

/// What runs for each; each has a log.
inline constexpr const char* kDaemons[] = {"run", "apiserver", "syncer"};

/// The descriptor by which a daemon that a command starts holds its lock: it crosses exec, to its children too, and is
/// gone with the last process that has it.
inline constexpr int kDaemonLock = 3;

/// What its store may hold. Unset: as its API server has it by default; 0: no limit.
/// A limit of objects below kQuotaObjectsMin leaves no room beside the virtual cluster's own (upstream's roles and
/// bindings, namespaces, accounts: about 150).
inline constexpr std::int64_t kQuotaObjectsMin = 200;
struct Quota {
  std::optional<std::int64_t> objects, bytes;
  bool given() const { return objects || bytes; }
  bool operator==(const Quota&) const = default;
};

/// How the pods on the host reach their API server and the DNS server of their virtual cluster. Not given: they are
/// told of the address at which it listens, and ask the node's resolver.
struct PodAccess {
  std::string address;  // in numbers: where pods reach this machine (or the pod that it is)
  std::string listen;   // where the daemons listen for them: `address`, or what leads there
  int dns_port = 0;
  std::string service_address;  // of the Service on the host that leads here: what pods know; the host gives it
  bool given() const { return !address.empty(); }
  bool operator==(const PodAccess&) const = default;
};

struct VirtualCluster {
  std::string name, uid;
  std::string host_namespace;
  std::string host_context;  // as in context names: the host kubeconfig's context, or "embedded"
  // Where the operator's kubeconfig was; read again to start and to delete it. "": embedded, or of an earlier version.
  std::string host_kubeconfig{};
  bool embedded_host = false;
  std::string created;               // RFC 3339
  std::string listen;                // address:port of the API server; fixed at create, so that kubeconfigs stay true
  std::string host_service_account;  // without rights, in the host namespace
  std::string template_file;         // where the template came from, for people
  std::map<std::string, std::string> parameters;
  bool lenient = false;  // keys of its template that sublet does not do are left out
  Quota quota;
  PodAccess pod_access;

  // Set by load(): the folder, not part of the JSON.
  std::string folder;
  std::string record_path() const { return record_path_in(folder); }
  std::string template_path() const { return folder + "/template.yaml"; }
  std::string host_kubeconfig_path() const { return folder + "/host.kubeconfig"; }
  std::string admin_kubeconfig_path() const { return api_folder() + "/admin.kubeconfig"; }
  std::string api_folder() const { return folder + "/apiserver"; }
  std::string socket_path() const { return folder + "/api.sock"; }
  std::string daemon_lock_path() const { return daemon_lock_path_in(folder); }
  int listen_port() const;
  /// Access of the DNS server to the API server, which writes it, anew from time to time: in a folder with nothing
  /// else, which is all of this that the DNS server can see.
  std::string dns_folder() const { return api_folder() + "/dns"; }
  std::string dns_kubeconfig_path() const { return dns_folder() + "/dns.kubeconfig"; }
  /// Access of upstream's controllers, where the template wants them; written by the same.
  std::string controllers_kubeconfig_path() const { return api_folder() + "/controllers.kubeconfig"; }
  std::string syncer_folder() const { return folder + "/syncer"; }
  std::string host_token_path() const { return syncer_folder() + "/host-token.json"; }
  std::string audit_folder() const { return syncer_folder() + "/audit"; }
  /// What pseudo names of nodes are made with: the syncer's alone, in its folder.
  std::string node_names_key_path() const { return syncer_folder() + "/node-names.key"; }
  std::string syncer_ready_path() const { return syncer_folder() + "/ready"; }
  /// `daemon`: one of kDaemons.
  std::string log_path(const std::string& daemon) const { return folder + "/" + daemon + ".log"; }
  static std::string record_path_in(const std::string& folder) { return folder + "/virtual-cluster.json"; }
  static std::string daemon_lock_path_in(const std::string& folder) { return folder + "/daemon.lock"; }

  std::string to_json() const;
  static Result<VirtualCluster> from_json(std::string_view json);
  /// Reads the record of that folder. not_found when there is none; other errors name the file and what is wrong.
  static Result<VirtualCluster> load(const std::string& folder);
  /// Writes the record as durably as the data beside it (base/files.h's replace_file), mode 0600.
  Outcome save() const;
};

/// The border's context: the record and its template, resolved. Errors are those of the template.
Result<syncer::TranslateContext> translate_context(const VirtualCluster& cluster);

/// The key of its pseudo names of nodes (NodeNames), made at the first call: names stay while the file does.
Result<std::string> node_names_key(const VirtualCluster& cluster);

/// The syncer's ServiceAccount in the host namespace, and its name as a user of the host
/// ("system:serviceaccount:team:sublet-syncer-rag").
std::string syncer_account(const VirtualCluster& cluster);
std::string syncer_user(const VirtualCluster& cluster);

/// `<label>=<uid>`: what the host objects of this virtual cluster carry.
std::string host_selector(const VirtualCluster& cluster);

}  // namespace sublet::cluster
