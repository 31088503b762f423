// The ConfigMap of variables that all host containers of the virtual cluster take (translate/pod_environment.h): there
// before the first pod, put back when it differs or goes.
#include "syncer/border/border.h"
#include "syncer/to_host/host_object.h"
#include "syncer/translate/pod_environment.h"

namespace sublet::syncer {

Result<Requeue> reconcile_environment(Border& border, const KindSides&, const std::string& tenant_namespace,
                                      const std::string& name) {
  const KindSides& config_maps = border.sides("ConfigMap");
  schema::Document wanted = make_host_environment(border.context());
  const auto there = config_maps.host->get(border.host_namespace(), wanted["metadata"]["name"].string());
  schema::Document stands_for = schema::Document::object();  // whose events tell of a name that is taken
  stands_for.root().put("apiVersion", "v1");
  stands_for.root().put("kind", "Service");
  stands_for.root().object("metadata").put("namespace", tenant_namespace);
  stands_for.root().object("metadata").put("name", name);
  return apply_to_host(border, config_maps.kind, there, std::move(wanted), stands_for.root());
}

}  // namespace sublet::syncer
