#include "cluster/objects/pod_access.h"

#include <array>

#include "cluster/host/host_manifest.h"
#include "sublet/patches/patch.h"
#include "sublet/syncer/translate.h"

namespace sublet::cluster {
namespace {

using schema::Document;
using schema::Value;

constexpr std::string_view kOfService = "kubernetes.io/service-name";
constexpr std::string_view kSliceManager = "endpointslice.kubernetes.io/managed-by";

const std::array<kube::Resource, 2>& access_resources() {
  static const std::array<kube::Resource, 2> both{
      {{"", "v1", "services"}, {"discovery.k8s.io", "v1", "endpointslices"}}};
  return both;
}

struct Port {
  const char *name, *protocol;
  int number, target;
};
std::vector<Port> ports_of(const VirtualCluster& cluster, bool dns) {
  std::vector<Port> ports{{"https", "TCP", kHttpsPort, cluster.listen_port()}};
  if (!dns) return ports;
  ports.push_back({"dns", "UDP", kDnsPort, cluster.pod_access.dns_port});
  ports.push_back({"dns-tcp", "TCP", kDnsPort, cluster.pod_access.dns_port});
  return ports;
}

bool is_v6(const std::string& address) { return address.find(':') != std::string::npos; }

Document access_manifest(const VirtualCluster& cluster, std::string_view api_version, std::string_view kind) {
  Document object = Document::object();
  object.root().put("apiVersion", api_version);
  object.root().put("kind", kind);
  Value metadata = object.root().object("metadata");
  metadata.put("name", "sublet-" + cluster.name);
  Value labels = metadata.object("labels");
  labels.put(syncer::kLabelManagedBy, cluster.name);
  labels.put(syncer::kLabelTenantUid, cluster.uid);
  return object;
}

Result<Document> keep_access_object(const Host& host, const VirtualCluster& cluster, const kube::Resource& resource,
                                    const Document& wanted) {
  const std::string name = wanted.root()["metadata"]["name"].string();
  const std::string& place = cluster.host_namespace;
  auto there = host.client.get(resource, place, name);
  if (!there && !there.error().is(Reason::not_found)) return there;
  if (!there) return host.client.create(resource, place, wanted.root());
  if (there->root()["metadata"]["labels"][syncer::kLabelTenantUid].text() != cluster.uid)
    return fail(Reason::already_exists, resource.resource + " " + name + " exists in namespace " + place +
                                            " and does not belong to this virtual cluster; remove or rename it");
  // Changes only the members that we set, because the host adds others.
  const Document patch = patches::make_merge_patch(there->root(), wanted.root());
  Document changes = Document::object();
  for (const Value member : patch.root())
    if (const Value want = wanted.root()[member.key()]; want && !want.is_object())
      changes.root().put(member.key(), want);
  if (const Value ports = wanted.root()["spec"]["ports"]; ports) {
    Document merged = Document::copy_of(there->root()["spec"]["ports"]);
    bool same = merged.root().size() == ports.size();
    for (std::size_t i = 0; same && i < ports.size(); ++i)
      for (const Value member : ports.at(i))
        same = same && merged.root().at(i)[member.key()].to_json() == member.to_json();
    if (!same) changes.root().object("spec").put("ports", ports);
  }
  const Document metadata = missing_metadata(there->root(), wanted.root());
  if (!metadata.root().empty()) changes.root().put("metadata", metadata.root());
  if (changes.root().empty()) return there;
  return host.client.patch(resource, place, name, kube::PatchType::merge, changes.to_json());
}

}  // namespace

std::span<const kube::Resource> pod_access_resources() { return access_resources(); }

Document pod_access_service(const VirtualCluster& cluster, bool dns, const patches::ExtraMetadata& extra) {
  Document object = access_manifest(cluster, "v1", "Service");
  if (!extra.labels.empty()) put_api_value(object.root()["metadata"].object("labels"), extra.labels);
  if (!extra.annotations.empty()) put_api_value(object.root()["metadata"].object("annotations"), extra.annotations);
  Value spec = object.root().object("spec");
  if (!cluster.pod_access.service_address.empty()) spec.put("clusterIP", cluster.pod_access.service_address);
  spec.array("ipFamilies").push(is_v6(cluster.pod_access.address) ? "IPv6" : "IPv4");
  Value ports = spec.array("ports");
  for (const Port& port : ports_of(cluster, dns)) {
    Value one = ports.push_object();
    one.put("name", port.name);
    one.put("protocol", port.protocol);
    one.put("port", port.number);
    one.put("targetPort", port.target);
  }
  return object;
}

Document pod_access_slice(const VirtualCluster& cluster, bool dns) {
  Document object = access_manifest(cluster, "discovery.k8s.io/v1", "EndpointSlice");
  Value labels = object.root()["metadata"]["labels"];
  labels.put(kOfService, "sublet-" + cluster.name);
  labels.put(kSliceManager, "sublet.dev");
  object.root().put("addressType", is_v6(cluster.pod_access.address) ? "IPv6" : "IPv4");
  Value endpoint = object.root().array("endpoints").push_object();
  endpoint.array("addresses").push(cluster.pod_access.address);
  endpoint.object("conditions").put("ready", true);
  Value ports = object.root().array("ports");
  for (const Port& port : ports_of(cluster, dns)) {
    Value one = ports.push_object();
    one.put("name", port.name);
    one.put("protocol", port.protocol);
    one.put("port", port.target);
  }
  return object;
}

Result<std::string> keep_pod_access(const Host& host, const VirtualCluster& cluster, bool dns,
                                    const patches::ExtraMetadata& extra) {
  auto service = keep_access_object(host, cluster, access_resources()[0], pod_access_service(cluster, dns, extra));
  if (!service && service.error().is(Reason::invalid) && !cluster.pod_access.service_address.empty()) {
    // Another Service has taken its address.
    VirtualCluster elsewhere = cluster;
    elsewhere.pod_access.service_address.clear();
    service = keep_access_object(host, elsewhere, access_resources()[0], pod_access_service(elsewhere, dns, extra));
  }
  if (!service) return fail(service.error());
  const auto slice = keep_access_object(host, cluster, access_resources()[1], pod_access_slice(cluster, dns));
  if (!slice) return fail(slice.error());
  const std::string address = service->root()["spec"]["clusterIP"].string();
  if (address.empty() || address == "None")
    return internal_error("Service sublet-" + cluster.name + " in namespace " + cluster.host_namespace +
                          " on the host has no cluster IP; delete it and try again");
  return address;
}

}  // namespace sublet::cluster
