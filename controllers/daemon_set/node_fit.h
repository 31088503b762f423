// Whether a daemon's pod belongs on a node: node name, node selector, required node affinity, taints. What runs on the
// node besides does not count; the scheduler will see.
//
// Functions of documents; pure.
#pragma once

#include "sublet/schema/document.h"

namespace sublet::controllers {

struct NodeFit {
  bool should_run = false;  // one is to be started
  bool may_stay = false;    // one that runs there goes on
};
/// `pod_spec` with the tolerations that every daemon has (add_daemon_tolerations).
NodeFit node_fit(const schema::Value& pod_spec, const schema::Value& node);

/// Daemons stay on nodes in trouble.
void add_daemon_tolerations(schema::Value pod_spec);

}  // namespace sublet::controllers
