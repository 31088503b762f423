// Nodes: the host's, as they are, so that tenants see capacity, labels and health of what they run on.
#include "syncer/from_host/mirror.h"

namespace sublet::syncer {

Result<Requeue> reconcile_node(Border& border, const std::string&, const std::string& name) {
  const bool wanted =
      !border.context().resolved_template || border.context().resolved_template->config().nodes_from_host;
  return reconcile_mirror(border, {"v1", "Node", kNodes, *border.tenant_nodes, *border.host_nodes, {"spec"}, true},
                          name, wanted);
}

}  // namespace sublet::syncer
