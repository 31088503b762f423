// LocalLayout: the folder of one virtual cluster whose daemons are processes of this machine (or of a pod with a
// volume). The local driver writes the folder; the daemons (`subletd run --dir FOLDER`) read it. Nothing else knows
// these paths.
//
// The folder is mode 0700, each file in it 0600:
//   virtual-cluster.json   the record (virtual_cluster.h)
//   template.yaml          the template as it was given (empty: none)
//   host.kubeconfig        address and CA of the host; no credential
//   apiserver/             store, keys and admin.kubeconfig; the API server writes nowhere else
//   api.sock               by which the syncer and the status check reach the API server
//   daemon.lock            locked while `subletd run` or a child of it lives; holds its pid. `sublet create` takes the
//                          lock and hands it over (kDaemonLock)
//   create.lock            locked by the command that creates, starts or deletes it
//   syncer/ready           exists while the syncer works
//   syncer/audit/          what the syncer has changed on the host (syncer/host_audit.h)
//   syncer/host-token.json the syncer's token for the host (kube/account_token.h); the syncer renews it
//   run.log, apiserver.log, syncer.log, dns.log (with --pod-address)
// Threads: any; two writers of one file leave the file of one of them.
#pragma once

#include <string>

#include "sublet/cluster/virtual_cluster.h"

namespace sublet::cluster {

/// The processes of each virtual cluster; each has a log.
inline constexpr const char* kDaemons[] = {"run", "apiserver", "syncer"};

/// The descriptor on which a daemon that a command starts inherits its lock. It crosses exec, also to children, and the
/// lock ends with the last process that has it.
inline constexpr int kDaemonLock = 3;

class LocalLayout {
 public:
  LocalLayout() = default;
  explicit LocalLayout(std::string folder) : folder_(std::move(folder)) {}

  const std::string& folder() const { return folder_; }
  std::string record_path() const { return folder_ + "/virtual-cluster.json"; }
  std::string template_path() const { return folder_ + "/template.yaml"; }
  std::string host_kubeconfig_path() const { return folder_ + "/host.kubeconfig"; }
  std::string socket_path() const { return folder_ + "/api.sock"; }
  std::string daemon_lock_path() const { return folder_ + "/daemon.lock"; }
  std::string create_lock_path() const { return folder_ + "/create.lock"; }
  /// `daemon`: one of kDaemons.
  std::string log_path(const std::string& daemon) const { return folder_ + "/" + daemon + ".log"; }

  std::string api_folder() const { return folder_ + "/apiserver"; }
  std::string admin_kubeconfig_path() const { return api_folder() + "/admin.kubeconfig"; }
  /// Access of the DNS server to the API server, which writes and renews it: alone in its folder, because that folder
  /// is all that the DNS server may read.
  std::string dns_folder() const { return api_folder() + "/dns"; }
  std::string dns_kubeconfig_path() const { return dns_folder() + "/dns.kubeconfig"; }
  /// Access of upstream's controllers, where the template asks for them; written by the API server.
  std::string controllers_kubeconfig_path() const { return api_folder() + "/controllers.kubeconfig"; }

  std::string syncer_folder() const { return folder_ + "/syncer"; }
  std::string syncer_ready_path() const { return syncer_folder() + "/ready"; }
  std::string host_token_path() const { return syncer_folder() + "/host-token.json"; }
  std::string audit_folder() const { return syncer_folder() + "/audit"; }
  std::string node_names_key_path() const { return syncer_folder() + "/node-names.key"; }

  /// Reads record and template. not_found when there is no record; other errors name the file and the cause.
  Result<VirtualCluster> load() const;
  /// Writes the record as durably as the data beside it (base/files.h's replace_file), mode 0600.
  Outcome save(const VirtualCluster& cluster) const;
  Outcome save_template(const VirtualCluster& cluster) const;

  /// Returns the key of the nodes' pseudo names (syncer/node_names.h); makes it at the first call. Names stay while the
  /// file does.
  Result<std::string> node_names_key() const;

 private:
  std::string folder_;
};

}  // namespace sublet::cluster
