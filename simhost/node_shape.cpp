#include "simhost/node_shape.h"

#include <algorithm>

#include "simhost/resources.h"

namespace sublet::simhost {
namespace {

struct Pair {
  std::string_view key, value;
};

constexpr Pair kLabels[] = {
    {"beta.kubernetes.io/arch", "amd64"}, {"beta.kubernetes.io/os", "linux"},       {"kubernetes.io/arch", "amd64"},
    {"kubernetes.io/os", "linux"},        {"topology.kubernetes.io/region", "sim"},
};

// Labels of GPU feature discovery for one A100 with 40 GB; make_node() adds counts and sharing.
constexpr std::string_view kGpuProduct = "NVIDIA-A100-SXM4-40GB";
constexpr int kGpuMemoryMib = 40960;
constexpr Pair kGpuLabels[] = {
    {"nvidia.com/cuda.driver.major", "580"},      {"nvidia.com/cuda.driver.minor", "95"},
    {"nvidia.com/cuda.driver.rev", "05"},         {"nvidia.com/cuda.runtime.major", "13"},
    {"nvidia.com/cuda.runtime.minor", "0"},       {"nvidia.com/gpu.compute.major", "8"},
    {"nvidia.com/gpu.compute.minor", "0"},        {"nvidia.com/gpu.family", "ampere"},
    {"nvidia.com/gpu.machine", "sublet-simhost"}, {"nvidia.com/gpu.present", "true"},
    {"nvidia.com/mig.capable", "true"},           {"feature.node.kubernetes.io/pci-10de.present", "true"},
};

/// How often a MIG profile fits on an A100 with 40 GB, and its memory.
struct MigProfile {
  std::string_view name;
  int per_gpu, memory_mib;
};
constexpr MigProfile kMigProfiles[] = {
    {"1g.5gb", 7, 4864},   {"1g.10gb", 4, 9856},  {"2g.10gb", 3, 9856},
    {"3g.20gb", 2, 19968}, {"4g.20gb", 1, 19968}, {"7g.40gb", 1, 40192},
};

struct Condition {
  std::string_view type, status, reason, message;
};
constexpr Condition kConditions[] = {
    {"MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"},
    {"DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"},
    {"PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"},
    {"Ready", "True", "KubeletReady", "kubelet is posting ready status"},
};

constexpr Pair kNodeInfo[] = {
    {"kernelVersion", "6.1.0-simhost"}, {"osImage", "Simulated Linux"}, {"containerRuntimeVersion", "simulated://1.0"},
    {"kubeletVersion", "v1.36.3"},      {"kubeProxyVersion", ""},       {"operatingSystem", "linux"},
    {"architecture", "amd64"},
};

const MigProfile* find_profile(std::string_view name) {
  const auto found = std::ranges::find(kMigProfiles, name, &MigProfile::name);
  return found == std::end(kMigProfiles) ? nullptr : found;
}

std::string hex_id(const std::string& name, std::string_view kind) {
  // The same after every restart, different for every node.
  std::size_t hash = std::hash<std::string>()(name + std::string(kind));
  std::string out;
  for (int i = 0; i < 32; ++i) {
    if (i == 8 || i == 12 || i == 16 || i == 20) out += '-';
    out += "0123456789abcdef"[hash & 15];
    hash = (hash >> 4) ^ (hash << 59) ^ static_cast<std::size_t>(i) * 0x9E3779B97F4A7C15ull;
  }
  return out;
}

void put_gpu_labels(schema::Value labels, const SimHostOptions& options) {
  const MigProfile* mig = find_profile(options.mig_profile);
  const bool sliced = options.time_slicing > 1;
  for (const Pair& label : kGpuLabels) labels.put(label.key, label.value);
  labels.put("nvidia.com/gpu.product", std::string(kGpuProduct) + (sliced ? "-SHARED" : ""));
  labels.put("nvidia.com/gpu.memory", std::to_string(kGpuMemoryMib));
  labels.put("nvidia.com/gpu.count", std::to_string(options.gpus_per_node));
  labels.put("nvidia.com/gpu.replicas", std::to_string(mig ? 0 : options.time_slicing));
  labels.put("nvidia.com/gpu.sharing-strategy", sliced ? "time-slicing" : "none");
  labels.put("nvidia.com/mig.strategy", mig ? "mixed" : "none");
  if (!mig) return;
  labels.put("nvidia.com/mig.config", "all-" + std::string(mig->name));
  labels.put("nvidia.com/mig.config.state", "success");
  const std::string prefix = "nvidia.com/mig-" + std::string(mig->name);
  labels.put(prefix + ".count", std::to_string(mig->per_gpu * options.gpus_per_node));
  labels.put(prefix + ".memory", std::to_string(mig->memory_mib));
  labels.put(prefix + ".product", std::string(kGpuProduct) + "-MIG-" + std::string(mig->name));
}

void put_node_resources(schema::Value list, const NodeShape& shape, const SimHostOptions& options) {
  list.put("cpu", "64");
  list.put("ephemeral-storage", "1Ti");
  list.put("hugepages-1Gi", "0");
  list.put("hugepages-2Mi", "0");
  list.put("memory", "256Gi");
  if (shape.gpu) {
    const MigProfile* mig = find_profile(options.mig_profile);
    list.put(kGpuResource, std::to_string(mig ? 0 : options.gpus_per_node * options.time_slicing));
    if (mig) list.put("nvidia.com/mig-" + std::string(mig->name), std::to_string(mig->per_gpu * options.gpus_per_node));
  }
  list.put("pods", std::to_string(options.pods_per_node));
}

void put_status(schema::Value status, const NodeShape& shape, const SimHostOptions& options, const std::string& now) {
  put_node_resources(status.object("capacity"), shape, options);
  put_node_resources(status.object("allocatable"), shape, options);
  for (const Condition& condition : kConditions) {
    schema::Value item = status.array("conditions").push_object();
    item.put("type", condition.type);
    item.put("status", condition.status);
    item.put("lastHeartbeatTime", now);
    item.put("lastTransitionTime", now);
    item.put("reason", condition.reason);
    item.put("message", condition.message);
  }
  for (const auto& [type, address] : {Pair{"InternalIP", ""}, Pair{"Hostname", shape.name}}) {
    schema::Value item = status.array("addresses").push_object();
    item.put("type", type);
    item.put("address", address.empty() ? node_address(shape.index) : std::string(address));
  }
  status.object("daemonEndpoints").object("kubeletEndpoint").put("Port", 10250);
  schema::Value info = status.object("nodeInfo");
  for (const char* id : {"machineID", "systemUUID", "bootID"}) info.put(id, hex_id(shape.name, id));
  for (const Pair& fact : kNodeInfo) info.put(fact.key, fact.value);
}

}  // namespace

std::string node_address(int index) {
  const int number = index + 2;
  return "10.90." + std::to_string(number / 250) + "." + std::to_string(number % 250 + 1);
}

Result<std::vector<NodeShape>> node_shapes(const SimHostOptions& options) {
  constexpr int kNodesMax = 10'000;
  if (options.nodes < 0 || options.gpu_nodes < 0 || options.nodes + options.gpu_nodes > kNodesMax)
    return bad_request("the number of nodes must be between 0 and 10000");
  if (options.gpus_per_node < 1 || options.gpus_per_node > 64)
    return bad_request("--gpus-per-node must be between 1 and 64");
  if (options.time_slicing < 1 || options.time_slicing > 128)
    return bad_request("--time-slicing must be between 1 and 128");
  if (!options.mig_profile.empty() && options.time_slicing > 1)
    return bad_request("--mig and --time-slicing exclude each other");
  if (!options.mig_profile.empty() && !find_profile(options.mig_profile)) {
    std::string known;
    for (const MigProfile& profile : kMigProfiles) known += (known.empty() ? "" : ", ") + std::string(profile.name);
    return bad_request("--mig: no such profile \"" + options.mig_profile + "\"; there are: " + known);
  }
  std::vector<NodeShape> out;
  for (int i = 1; i <= options.nodes; ++i)
    out.push_back({"cpu-" + std::to_string(i), static_cast<int>(out.size()), false});
  for (int i = 1; i <= options.gpu_nodes; ++i)
    out.push_back({"gpu-" + std::to_string(i), static_cast<int>(out.size()), true});
  return out;
}

schema::Document make_node(const NodeShape& shape, const SimHostOptions& options, WallTime now) {
  schema::Document node = schema::Document::object();
  schema::Value root = node.root();
  root.put("kind", "Node");
  root.put("apiVersion", "v1");
  schema::Value metadata = root.object("metadata");
  metadata.put("name", shape.name);
  schema::Value labels = metadata.object("labels");
  for (const Pair& label : kLabels) labels.put(label.key, label.value);
  labels.put("kubernetes.io/hostname", shape.name);
  labels.put("node.kubernetes.io/instance-type", shape.gpu ? "sim-gpu" : "sim-cpu");
  if (shape.gpu) put_gpu_labels(labels, options);
  metadata.object("annotations").put(kSimulatedAnnotation, "true");
  schema::Value spec = root.object("spec");
  const std::string pod_network =
      "10." + std::to_string(128 + shape.index / 256) + "." + std::to_string(shape.index % 256) + ".0/24";
  spec.put("podCIDR", pod_network);
  spec.array("podCIDRs").push(pod_network);
  spec.put("providerID", "simhost://" + shape.name);
  put_status(root.object("status"), shape, options, format_time(now));
  return node;
}

}  // namespace sublet::simhost
