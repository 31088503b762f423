// Services: copied to the host as they are, while cluster IPs, node ports and a load balancer's status come from there
// (docs/decisions/service-addresses.md). The tenant's API server gives away none, so nothing can disagree but for the
// moment in which the host's answer is on its way.
#include "sublet/patches/patch.h"
#include "syncer/border/border.h"
#include "syncer/to_host/host_object.h"
#include "syncer/translate/translation.h"

namespace sublet::syncer {
namespace {

using schema::Document;
using schema::Value;

bool same_port(const Value& a, const Value& b) {
  return a["port"].integer() == b["port"].integer() && a["protocol"].text("TCP") == b["protocol"].text("TCP");
}

// Whether the host's Service is what the tenant's asks for by now: before, its addresses are those of another type.
bool of_one_type(const Value& tenant_spec, const Value& host_spec) {
  return tenant_spec["type"].text("ClusterIP") == host_spec["type"].text("ClusterIP") &&
         (tenant_spec["clusterIP"].text() == "None") == (host_spec["clusterIP"].text() == "None");
}

// The tenant's ports with the host's node ports.
Document ports_of(const Value& tenant_spec, const Value& host_spec) {
  Document ports = Document::copy_of(tenant_spec["ports"]);
  for (Value port : ports.root()) {
    port.erase("nodePort");
    for (const Value other : host_spec["ports"])
      if (same_port(port, other) && other["nodePort"].integer() != 0) port.put("nodePort", other["nodePort"]);
  }
  return ports;
}

// What the host has given and the tenant does not know.
Document address_difference(const Value& tenant_spec, const Value& host_spec) {
  Document difference = Document::object();
  if (tenant_spec["clusterIP"].text() != "None")
    for (const std::string_view field : {"clusterIP", "clusterIPs", "ipFamilies"})
      if (host_spec.has(field) && !host_spec[field].equals(tenant_spec[field]))
        difference.root().put(field, host_spec[field]);
  const Document ports = ports_of(tenant_spec, host_spec);
  if (!ports.root().empty() && !ports.root().equals(tenant_spec["ports"])) difference.root().put("ports", ports.root());
  const auto health = host_spec["healthCheckNodePort"].integer();
  if (health != 0 && health != tenant_spec["healthCheckNodePort"].integer())
    difference.root().put("healthCheckNodePort", health);
  return difference;
}

Document service_status_difference(const Value& tenant_service, const Value& host_service) {
  const Document wanted = carry_back("ServiceStatus", host_service["status"], tenant_service);
  const Value ours = tenant_service["status"]["loadBalancer"], theirs = wanted["loadBalancer"];
  Document difference = Document::object();
  if (ours.equals(theirs) || (ours.empty() && theirs.empty())) return difference;
  difference.root().put("loadBalancer", patches::make_merge_patch(ours, theirs).root());
  return difference;
}

Result<Requeue> bring_addresses_back(Border& border, const SyncedKind& kind, const Value& tenant_service,
                                     const Value& host_service) {
  const Value tenant_spec = tenant_service["spec"], host_spec = host_service["spec"];
  if (tenant_identity(host_service).uid != tenant_service["metadata"]["uid"].text()) return Requeue();
  if (host_service["metadata"].has("deletionTimestamp") || !of_one_type(tenant_spec, host_spec)) return Requeue();
  Document patch = Document::object();
  if (tenant_spec["type"].text() != "ExternalName")
    if (const Document spec = address_difference(tenant_spec, host_spec); !spec.root().empty())
      patch.root().put("spec", spec.root());
  if (const Document status = service_status_difference(tenant_service, host_service); !status.root().empty())
    patch.root().put("status", status.root());
  if (patch.root().empty()) return Requeue();
  const Value metadata = tenant_service["metadata"];
  // Of what was looked at: a Service that was changed meanwhile is looked at again.
  patch.root().object("metadata").put("resourceVersion", metadata["resourceVersion"]);
  ++border.tenant.writes;
  const auto patched = border.tenant.client.patch(kind.resource, metadata["namespace"].text(), metadata["name"].text(),
                                                  kube::PatchType::merge, patch.to_json(), "status");
  if (patched || patched.error().is(Reason::not_found)) return Requeue();
  if (patched.error().is(Reason::conflict)) return Requeue(std::chrono::milliseconds(50));
  return fail(patched.error());
}

}  // namespace

Result<Requeue> reconcile_service(Border& border, const KindSides& sides, const std::string& tenant_namespace,
                                  const std::string& name) {
  auto copied = reconcile_copied(border, sides, tenant_namespace, name);
  if (!copied) return copied;
  const auto tenant_cached = sides.tenant->get(tenant_namespace, name);
  const auto host_cached = sides.host->get(border.host_namespace(), border.host_name_of(tenant_namespace, name));
  if (!tenant_cached || !host_cached || !sides.kind.crosses_to_host(tenant_namespace, name)) return copied;
  const Document tenant_service = whole(*tenant_cached, sides.kind);
  auto brought = bring_addresses_back(border, sides.kind, tenant_service.root(), host_cached->document().root());
  return !brought || *brought ? brought : copied;
}

}  // namespace sublet::syncer
