// VirtualCluster: the record of one virtual cluster, as the CLI writes it and the daemons read it.
//
// One folder (mode 0700) a virtual cluster; every file in it 0600:
//   virtual-cluster.json   this record
//   template.yaml          the template as it was given (empty: none)
//   host.kubeconfig        access to the host; only the syncer reads it
//   admin.kubeconfig       access to the virtual cluster, written by its API server
//   apiserver/             store and keys, the API server's own
//   api.sock               where the syncer reaches the API server
//   *.log                  output of the daemons
// Threads: plain data and pure functions over files.
#pragma once

#include <map>
#include <string>

#include "sublet/base/status.h"
#include "sublet/syncer/translate.h"

namespace sublet::syncer {

struct VirtualCluster {
  std::string name, uid;
  std::string host_namespace;
  std::string host_context;  // as in context names: the host kubeconfig's context, or "embedded"
  bool embedded_host = false;
  std::string created;               // RFC 3339
  std::string listen;                // address:port of the API server; fixed at create, so that kubeconfigs stay true
  std::string host_service_account;  // without rights, in the host namespace
  std::string template_file;         // where the template came from, for people
  std::map<std::string, std::string> parameters;

  // Set by load(): the folder, not part of the JSON.
  std::string folder;
  std::string record_path() const { return folder + "/virtual-cluster.json"; }
  std::string template_path() const { return folder + "/template.yaml"; }
  std::string host_kubeconfig_path() const { return folder + "/host.kubeconfig"; }
  std::string admin_kubeconfig_path() const { return folder + "/admin.kubeconfig"; }
  std::string api_folder() const { return folder + "/apiserver"; }
  std::string socket_path() const { return folder + "/api.sock"; }

  std::string to_json() const;
  static Result<VirtualCluster> from_json(std::string_view json);
  /// Reads `<folder>/virtual-cluster.json`; errors name the file and what is wrong.
  static Result<VirtualCluster> load(const std::string& folder);
  /// Writes the record atomically (temporary file, fsync, rename), mode 0600.
  Outcome save() const;
};

/// The border's context: the record and its template, resolved. Errors are those of the template.
Result<TranslateContext> translate_context(const VirtualCluster& cluster);

}  // namespace sublet::syncer
