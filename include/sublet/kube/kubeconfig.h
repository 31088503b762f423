// Kubeconfig: reading, writing and merging of ~/.kube/config files without ever damaging one.
//
// load() accepts YAML or JSON with certificates inline or by file. merge_context()/remove_context() take a lock file
// beside the target (as client-go does: "<file>.lock"), re-read, change only what is named, keep everything else,
// write a temporary file in the same folder, fsync and rename: two connects at once, or a crash, never lose anything.
// Every `path` may be a list as in $KUBECONFIG ("a:b"): the first file that defines something wins, a changed entry is
// written to the file that defines it, a new one to the first file that exists (else the last, which is made).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sublet/base/status.h"
#include "sublet/kube/client.h"
#include "sublet/net/http_client.h"
#include "sublet/net/loop.h"

namespace sublet::kube {

/// One context resolved: everything to reach and authenticate to a cluster. Data, not file names.
struct ClusterAccess {
  std::string context_name, cluster_name, user_name, namespace_name;
  std::string server;  // URL
  std::string ca_pem, client_certificate_pem, client_key_pem, bearer_token, tls_server_name;
  bool insecure_skip_tls_verify = false;
};

/// What kubectl would use: the list in $KUBECONFIG, else ~/.kube/config.
std::string default_kubeconfig_path();
/// `context` "": the current one. Errors name file and key, and what exists instead.
Result<ClusterAccess> load_kubeconfig(const std::string& path, const std::string& context = {});
Result<std::vector<std::string>> kubeconfig_contexts(const std::string& path);
Result<std::string> kubeconfig_current_context(const std::string& path);
/// Which file of the list defines the context, or would take it: for telling the user.
Result<std::string> kubeconfig_file_of(const std::string& path, const std::string& context);
/// A complete kubeconfig (YAML) with one cluster, user and context, which is current.
std::string render_kubeconfig(const ClusterAccess& access);
/// Adds or replaces this context, cluster and user; makes the context current when asked.
Outcome merge_context(const std::string& path, const ClusterAccess& access, bool make_current);
/// Removes the context with its cluster and user when no other context uses them; makes `next_current` current if the
/// removed one was (empty: none).
Outcome remove_context(const std::string& path, const std::string& context, const std::string& next_current);
Outcome set_current_context(const std::string& path, const std::string& context);

/// A transport to that cluster on net/ (TLS; http:// and unix:///path too). The loop must outlive it. The bearer token
/// is not the transport's: give it to ClientOptions.
Result<std::shared_ptr<net::Transport>> connect(net::Loop& loop, const ClusterAccess& access,
                                                const net::HttpClientOptions& options = {});

}  // namespace sublet::kube
