// RuntimeClasses: those that the template offers, by name; overhead and scheduling come along.
#include "syncer/from_host/mirror.h"

namespace sublet::syncer {

Result<Requeue> reconcile_runtime_class(Border& border, const std::string&, const std::string& name) {
  const bool wanted =
      !border.context().resolved_template || border.context().resolved_template->config().runtime_classes_from_host;
  return reconcile_mirror(border,
                          {"node.k8s.io/v1",
                           "RuntimeClass",
                           kRuntimeClasses,
                           *border.tenant_runtime_classes,
                           *border.host_runtime_classes,
                           {"handler", "overhead", "scheduling"}},
                          name, wanted);
}

}  // namespace sublet::syncer
