// Inhabitants: what is in a host namespace, of every kind that the host serves. Blocking. Threads: one.
#pragma once

#include <string>
#include <vector>

#include "cluster/host/host.h"

namespace sublet::cluster {

struct Inhabitants {
  std::vector<std::string> found;    // "deployments.apps web"; a few of each kind
  std::vector<std::string> unknown;  // kinds at which could not be looked, and why
  bool none() const { return found.empty() && unknown.empty(); }
  /// "deployments.apps web, configmaps notes and 3 more"
  std::string text() const;
};

/// Without what every namespace gets by itself (kube-root-ca.crt, the account `default`, events).
Inhabitants inhabitants_of(const Host& host, const std::string& host_namespace);

}  // namespace sublet::cluster
