#include "simhost/node_keeper.h"

namespace sublet::simhost {
namespace {

const kube::Resource kNodesApi{"", "v1", "nodes"};
const kube::Resource kLeasesApi{"coordination.k8s.io", "v1", "leases"};
const kube::Resource kRuntimeClassesApi{"node.k8s.io", "v1", "runtimeclasses"};
constexpr const char* kLeaseNamespace = "kube-node-lease";
constexpr int kRenewalsPerHeartbeat = 15;  // the kubelet reports an unchanged status every five minutes

/// Made now or there already.
Outcome made(const Result<schema::Document>& answer) {
  if (answer || answer.error().is(Reason::already_exists)) return {};
  return fail(answer.error());
}

}  // namespace

Outcome NodeKeeper::write() {
  auto shapes = node_shapes(options_);
  if (!shapes) return fail(shapes.error());
  shapes_ = std::move(*shapes);
  if (auto done = write_runtime_class(); !done) return done;
  for (const NodeShape& shape : shapes_) {
    if (auto done = write_node(shape); !done) return done;
    if (auto done = write_lease(shape); !done) return done;
  }
  return {};
}

Outcome NodeKeeper::write_node(const NodeShape& shape) {
  const schema::Document node = make_node(shape, options_, clock_.now());
  const auto created = client_.create(kNodesApi, "", node.root());
  if (auto done = made(created); !done) return done;
  if (created && !(*created)["status"]["allocatable"].empty()) return {};
  // The node existed (maybe with other flags), or the server accepts status only through its subresource.
  schema::Document meta = schema::Document::object();
  schema::Value labels = meta.root().object("metadata");
  labels.put("labels", node["metadata"]["labels"]);
  labels.put("annotations", node["metadata"]["annotations"]);
  const auto patched = client_.patch(kNodesApi, "", shape.name, kube::PatchType::merge, meta.to_json());
  if (!patched) return fail(patched.error());
  schema::Document status = schema::Document::object();
  status.root().put("status", node["status"]);
  const auto written = client_.patch(kNodesApi, "", shape.name, kube::PatchType::merge, status.to_json(), "status");
  return written ? Outcome() : Outcome(fail(written.error()));
}

Outcome NodeKeeper::write_lease(const NodeShape& shape) {
  schema::Document lease = schema::Document::object();
  schema::Value root = lease.root();
  root.put("kind", "Lease");
  root.put("apiVersion", "coordination.k8s.io/v1");
  root.object("metadata").put("name", shape.name);
  schema::Value spec = root.object("spec");
  spec.put("holderIdentity", shape.name);
  spec.put("leaseDurationSeconds", static_cast<int>(options_.lease_renewal.count() * 4));
  spec.put("renewTime", format_micro_time(clock_.now()));
  return made(client_.create(kLeasesApi, kLeaseNamespace, root));
}

Outcome NodeKeeper::write_runtime_class() {
  schema::Document runtime = schema::Document::object();
  schema::Value root = runtime.root();
  root.put("kind", "RuntimeClass");
  root.put("apiVersion", "node.k8s.io/v1");
  root.object("metadata").put("name", "nvidia");
  root.put("handler", "nvidia");
  return made(client_.create(kRuntimeClassesApi, "", root));
}

void NodeKeeper::begin_renewal() {
  loop_.after(options_.lease_renewal, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    self->renew();
    self->begin_renewal();
  });
}

void NodeKeeper::renew() {
  const bool heartbeat = ++renewals_ % kRenewalsPerHeartbeat == 0;
  const std::string lease = R"({"spec":{"renewTime":")" + format_micro_time(clock_.now()) + "\"}}";
  for (const NodeShape& shape : shapes_) {
    pipeline_.send(client_.patch_request(kLeasesApi, kLeaseNamespace, shape.name, kube::PatchType::merge, lease), {},
                   kube::Pipeline::Line::background);
    if (!heartbeat) continue;
    const std::string now = format_time(clock_.now());
    std::string conditions;
    for (const char* type : {"MemoryPressure", "DiskPressure", "PIDPressure", "Ready"})
      conditions += (conditions.empty() ? "" : ",") +
                    (R"({"type":")" + std::string(type) + R"(","lastHeartbeatTime":")") + now + "\"}";
    pipeline_.send(client_.patch_request(kNodesApi, "", shape.name, kube::PatchType::strategic_merge,
                                         R"({"status":{"conditions":[)" + conditions + "]}}", "status"),
                   {}, kube::Pipeline::Line::background);
  }
}

}  // namespace sublet::simhost
