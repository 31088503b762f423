// What a pod may share with its node: namespaces, ports, addresses, processes, files.
#include <array>

#include "podsecurity/findings.h"

namespace sublet::podsecurity {

using schema::Value;

Finding host_namespaces(const Pod& pod) {
  Names shared;
  if (pod.spec["hostNetwork"].boolean()) shared.push_back("hostNetwork=true");
  if (pod.spec["hostPID"].boolean()) shared.push_back("hostPID=true");
  if (pod.spec["hostIPC"].boolean()) shared.push_back("hostIPC=true");
  if (shared.empty()) return {};
  return Violation{"host namespaces", joined(shared, ", ")};
}

Finding host_ports(const Pod& pod) {
  Names containers;
  Texts ports;
  pod.each_container([&](const Value& container) {
    bool uses = false;
    for (const Value port : container["ports"]) {
      const auto number = port["hostPort"].integer();
      if (number != 0) ports.insert(std::to_string(number));
      uses |= number != 0;
    }
    if (uses) containers.push_back(container["name"].text());
  });
  if (containers.empty()) return {};
  return Violation{"hostPort", named("container", containers) + (containers.size() == 1 ? " uses " : " use ") +
                                   counted("hostPort", ports.size()) + " " + joined(ports, ", ")};
}

Finding probe_hosts(const Pod& pod) {
  Texts containers, hosts;
  const auto look = [&](const Value& container, const Value& handler) {
    for (const auto* way : {"httpGet", "tcpSocket"}) {
      const auto host = handler[way]["host"].text();
      if (host.empty()) continue;
      hosts.emplace(host);
      containers.emplace(container["name"].text());
    }
  };
  pod.each_container([&](const Value& container) {
    for (const auto* probe : {"livenessProbe", "readinessProbe", "startupProbe"}) look(container, container[probe]);
    for (const auto* hook : {"postStart", "preStop"}) look(container, container["lifecycle"][hook]);
  });
  if (containers.empty()) return {};
  return Violation{"probe or lifecycle host", counted("container", containers.size()) + " " + quoted(containers) +
                                                  (containers.size() == 1 ? " uses " : " use ") +
                                                  counted("probe or lifecycle host", hosts.size()) + " " +
                                                  quoted(hosts)};
}

Finding host_process(const Pod& pod) {
  const auto wants = [](const Value& security) { return security["windowsOptions"]["hostProcess"].boolean(); };
  Setters setters{wants(pod.security())};
  pod.each_container([&](const Value& container) {
    if (wants(container["securityContext"])) setters.containers.push_back(container["name"].text());
  });
  if (!setters.any()) return {};
  return Violation{"hostProcess", setters.text() + " must not set securityContext.windowsOptions.hostProcess=true"};
}

Finding host_path_volumes(const Pod& pod) {
  Names volumes;
  for (const Value volume : pod.spec["volumes"])
    if (given(volume["hostPath"])) volumes.push_back(volume["name"].text());
  if (volumes.empty()) return {};
  return Violation{"hostPath volumes", named("volume", volumes)};
}

namespace {

constexpr std::array<std::string_view, 9> kFreeSources = {"configMap", "csi",   "downwardAPI",           "emptyDir",
                                                          "ephemeral", "image", "persistentVolumeClaim", "projected",
                                                          "secret"};
// Whatever else a volume may be of; the first that it names is told.
constexpr std::array<std::string_view, 21> kRestrictedSources = {"hostPath",
                                                                 "gcePersistentDisk",
                                                                 "awsElasticBlockStore",
                                                                 "gitRepo",
                                                                 "nfs",
                                                                 "iscsi",
                                                                 "glusterfs",
                                                                 "rbd",
                                                                 "flexVolume",
                                                                 "cinder",
                                                                 "cephfs",
                                                                 "flocker",
                                                                 "fc",
                                                                 "azureFile",
                                                                 "vsphereVolume",
                                                                 "quobyte",
                                                                 "azureDisk",
                                                                 "photonPersistentDisk",
                                                                 "portworxVolume",
                                                                 "scaleIO",
                                                                 "storageos"};

}  // namespace

Finding restricted_volumes(const Pod& pod) {
  Names volumes;
  Texts sources;
  for (const Value volume : pod.spec["volumes"]) {
    const auto is_of = [&](std::string_view source) { return given(volume[source]); };
    if (std::ranges::any_of(kFreeSources, is_of)) continue;
    const auto source = std::ranges::find_if(kRestrictedSources, is_of);
    volumes.push_back(volume["name"].text());
    sources.emplace(source == kRestrictedSources.end() ? "unknown" : *source);
  }
  if (volumes.empty()) return {};
  return Violation{"restricted volume types", named("volume", volumes) + (volumes.size() == 1 ? " uses " : " use ") +
                                                  counted("restricted volume type", sources.size()) + " " +
                                                  quoted(sources)};
}

}  // namespace sublet::podsecurity
