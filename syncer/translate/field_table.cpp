#include "syncer/translate/field_table.h"

#include <algorithm>

#include "syncer/translate/rewrites.h"

// Map of this file: pod rows from the outside in (Pod, PodSpec, containers, volumes, scheduling, security), then
// ConfigMap, Secret, Service, then the reserved keys.

namespace sublet::syncer {
namespace {

using enum Action;

constexpr std::string_view kNoVolumePlugin =
    "this kind of volume is not offered to tenants; use configMap, secret, emptyDir, downwardAPI, projected or image";
constexpr std::string_view kNoClaims = "PersistentVolumeClaims are not synced to the host by this version of sublet";
constexpr std::string_view kNoDeviceClaims =
    "resource claims (DRA) are not synced to the host by this version of sublet";
constexpr std::string_view kHostNamespaces = "sharing the node's namespaces is not allowed in a virtual cluster";
constexpr std::string_view kWindows = "Windows host processes are not allowed in a virtual cluster";

constexpr FieldRow kPod[] = {
    {"apiVersion", copy},      {"kind", copy},   {"metadata", rewrite, {}, rewrite_nothing},
    {"spec", walk, "PodSpec"}, {"status", drop},
};

constexpr FieldRow kPodSpec[] = {
    {"volumes", walk, "Volume"},
    {"initContainers", walk, "Container"},
    {"containers", walk, "Container"},
    {"ephemeralContainers", drop},  // they come through their own subresource, never at create
    {"restartPolicy", copy},
    {"terminationGracePeriodSeconds", rewrite, {}, clamp_grace_period},
    {"activeDeadlineSeconds", copy},
    {"dnsPolicy", rewrite, {}, rewrite_nothing},  // with dnsConfig: force_pod_network
    {"nodeSelector", copy},
    {"serviceAccountName", drop},  // forced: force_host_identity
    {"serviceAccount", drop},
    {"automountServiceAccountToken", drop},
    {"nodeName", rewrite, {}, refuse_node_name},
    {"hostNetwork", deny, kHostNamespaces},
    {"hostPID", deny, kHostNamespaces},
    {"hostIPC", deny, kHostNamespaces},
    {"shareProcessNamespace", copy},
    {"securityContext", walk, "PodSecurityContext"},
    {"imagePullSecrets", walk, "ImagePullSecret"},
    {"hostname", copy},   // defaulted to the tenant pod's name: force_pod_network
    {"subdomain", drop},  // would be resolved in the host namespace's domain
    {"affinity", walk, "Affinity"},
    {"schedulerName", copy},
    {"tolerations", rewrite, {}, clamp_tolerations},
    {"hostAliases", copy},
    // Priorities are the platform's: a tenant's classes mean nothing on the host, and numbers would preempt others.
    {"priorityClassName", warn, "priorities are the platform's: on the host the pod has the host's default priority"},
    {"priority", drop},
    {"preemptionPolicy", drop},
    {"dnsConfig", copy},
    {"readinessGates", warn, "readiness gates are not evaluated on the host and are left out"},
    {"runtimeClassName", copy},
    {"enableServiceLinks", drop},  // forced to false; the tenant's services come as plain variables
    {"overhead", drop},            // the host's RuntimeClass says it again
    {"topologySpreadConstraints", walk, "TopologySpreadConstraint"},
    {"setHostnameAsFQDN", drop},  // its domain would be the host namespace's
    {"os", copy},
    {"hostUsers", copy},
    {"schedulingGates", copy},
    {"resourceClaims", deny, kNoDeviceClaims},
    {"resources", walk, "ResourceRequirements"},
    {"hostnameOverride", copy},
    {"schedulingGroup", deny, "pod groups are not synced to the host by this version of sublet"},
};

constexpr FieldRow kContainer[] = {
    {"name", copy},
    {"image", copy},
    {"command", copy},
    {"args", copy},
    {"workingDir", copy},
    {"ports", walk, "ContainerPort"},
    {"envFrom", walk, "EnvFromSource"},
    {"env", rewrite, {}, rewrite_environment},
    {"resources", walk, "ResourceRequirements"},
    {"resizePolicy", copy},
    {"restartPolicy", copy},
    {"restartPolicyRules", copy},
    {"volumeMounts", walk, "VolumeMount"},
    {"volumeDevices", deny, kNoClaims},
    {"livenessProbe", walk, "Probe"},
    {"readinessProbe", walk, "Probe"},
    {"startupProbe", walk, "Probe"},
    {"lifecycle", walk, "Lifecycle"},
    {"terminationMessagePath", copy},
    {"terminationMessagePolicy", copy},
    {"imagePullPolicy", copy},
    {"securityContext", walk, "SecurityContext"},
    {"stdin", copy},
    {"stdinOnce", copy},
    {"tty", copy},
};

constexpr FieldRow kContainerPort[] = {
    {"name", copy},     {"containerPort", copy},
    {"protocol", copy}, {"hostPort", deny, "ports of the node are not offered to tenants; expose the pod by a Service"},
    {"hostIP", drop},
};

constexpr FieldRow kEnvVar[] = {{"name", copy}, {"value", copy}, {"valueFrom", walk, "EnvVarSource"}};
constexpr FieldRow kEnvVarSource[] = {
    {"fieldRef", rewrite, {}, rewrite_nothing},  // rewrite_environment has replaced those that name tenant facts
    {"resourceFieldRef", copy},
    {"configMapKeyRef", walk, "ConfigMapKeySelector"},
    {"secretKeyRef", walk, "SecretKeySelector"},
    {"fileKeyRef", copy},
};
constexpr FieldRow kConfigMapKeySelector[] = {
    {"name", rewrite, {}, rewrite_config_map_name}, {"key", copy}, {"optional", copy}};
constexpr FieldRow kSecretKeySelector[] = {
    {"name", rewrite, {}, rewrite_secret_name}, {"key", copy}, {"optional", copy}};
constexpr FieldRow kEnvFromSource[] = {
    {"prefix", copy}, {"configMapRef", walk, "ConfigMapEnvSource"}, {"secretRef", walk, "SecretEnvSource"}};
constexpr FieldRow kConfigMapEnvSource[] = {{"name", rewrite, {}, rewrite_config_map_name}, {"optional", copy}};
constexpr FieldRow kSecretEnvSource[] = {{"name", rewrite, {}, rewrite_secret_name}, {"optional", copy}};
// imagePullSecrets: a missing one does not keep a pod from starting.
constexpr FieldRow kImagePullSecret[] = {{"name", rewrite, {}, rewrite_pull_secret_name}};

constexpr FieldRow kResourceRequirements[] = {{"limits", copy}, {"requests", copy}, {"claims", deny, kNoDeviceClaims}};

constexpr FieldRow kVolumeMount[] = {
    {"name", copy},        {"readOnly", copy}, {"recursiveReadOnly", copy},
    {"mountPath", copy},   {"subPath", copy},  {"mountPropagation", rewrite, {}, refuse_mount_propagation},
    {"subPathExpr", copy},
};

constexpr FieldRow kProbe[] = {
    {"exec", copy},
    {"httpGet", walk, "HTTPGetAction"},
    {"tcpSocket", walk, "TCPSocketAction"},
    {"grpc", copy},
    {"initialDelaySeconds", copy},
    {"timeoutSeconds", copy},
    {"periodSeconds", copy},
    {"successThreshold", copy},
    {"failureThreshold", copy},
    {"terminationGracePeriodSeconds", rewrite, {}, clamp_grace_period},
};
constexpr FieldRow kLifecycle[] = {
    {"postStart", walk, "LifecycleHandler"}, {"preStop", walk, "LifecycleHandler"}, {"stopSignal", copy}};
constexpr FieldRow kLifecycleHandler[] = {
    {"exec", copy}, {"httpGet", walk, "HTTPGetAction"}, {"tcpSocket", walk, "TCPSocketAction"}, {"sleep", copy}};
// The kubelet would call another host from the node's network.
constexpr FieldRow kHttpGetAction[] = {{"path", copy},
                                       {"port", copy},
                                       {"host", rewrite, {}, refuse_foreign_host},
                                       {"scheme", copy},
                                       {"httpHeaders", copy}};
constexpr FieldRow kTcpSocketAction[] = {{"port", copy}, {"host", rewrite, {}, refuse_foreign_host}};

constexpr FieldRow kVolume[] = {
    {"name", copy},
    {"hostPath", deny, "paths of the node are not offered to tenants"},
    {"emptyDir", copy},
    {"gcePersistentDisk", deny, kNoVolumePlugin},
    {"awsElasticBlockStore", deny, kNoVolumePlugin},
    {"gitRepo", deny, kNoVolumePlugin},
    {"secret", walk, "SecretVolumeSource"},
    {"nfs", deny, kNoVolumePlugin},
    {"iscsi", deny, kNoVolumePlugin},
    {"glusterfs", deny, kNoVolumePlugin},
    {"persistentVolumeClaim", deny, kNoClaims},
    {"rbd", deny, kNoVolumePlugin},
    {"flexVolume", deny, kNoVolumePlugin},
    {"cinder", deny, kNoVolumePlugin},
    {"cephfs", deny, kNoVolumePlugin},
    {"flocker", deny, kNoVolumePlugin},
    {"downwardAPI", walk, "DownwardAPIVolumeSource"},
    {"fc", deny, kNoVolumePlugin},
    {"azureFile", deny, kNoVolumePlugin},
    {"configMap", walk, "ConfigMapVolumeSource"},
    {"vsphereVolume", deny, kNoVolumePlugin},
    {"quobyte", deny, kNoVolumePlugin},
    {"azureDisk", deny, kNoVolumePlugin},
    {"photonPersistentDisk", deny, kNoVolumePlugin},
    {"projected", walk, "ProjectedVolumeSource"},
    {"portworxVolume", deny, kNoVolumePlugin},
    {"scaleIO", deny, kNoVolumePlugin},
    {"storageos", deny, kNoVolumePlugin},
    {"csi", deny, kNoVolumePlugin},
    {"ephemeral", deny, kNoClaims},
    {"image", copy},
};
constexpr FieldRow kSecretVolumeSource[] = {
    {"secretName", rewrite, {}, rewrite_secret_name}, {"items", copy}, {"defaultMode", copy}, {"optional", copy}};
constexpr FieldRow kConfigMapVolumeSource[] = {
    {"name", rewrite, {}, rewrite_config_map_name}, {"items", copy}, {"defaultMode", copy}, {"optional", copy}};
constexpr FieldRow kProjectedVolumeSource[] = {{"sources", walk, "VolumeProjection"}, {"defaultMode", copy}};
constexpr FieldRow kVolumeProjection[] = {
    {"secret", walk, "SecretProjection"},
    {"downwardAPI", walk, "DownwardAPIProjection"},
    {"configMap", walk, "ConfigMapProjection"},
    {"serviceAccountToken", rewrite, {}, rewrite_token_projection},
    {"clusterTrustBundle", deny, "cluster trust bundles are not synced to the host by this version of sublet"},
    {"podCertificate", deny, "pod certificates would be issued in the host's name"},
};
constexpr FieldRow kSecretProjection[] = {
    {"name", rewrite, {}, rewrite_secret_name}, {"items", copy}, {"optional", copy}};
constexpr FieldRow kConfigMapProjection[] = {
    {"name", rewrite, {}, rewrite_config_map_name}, {"items", copy}, {"optional", copy}};
constexpr FieldRow kDownwardAPIProjection[] = {{"items", walk, "DownwardAPIVolumeFile"}};
constexpr FieldRow kDownwardAPIVolumeSource[] = {{"items", walk, "DownwardAPIVolumeFile"}, {"defaultMode", copy}};
constexpr FieldRow kDownwardAPIVolumeFile[] = {
    {"path", copy}, {"fieldRef", walk, "ObjectFieldSelector"}, {"resourceFieldRef", copy}, {"mode", copy}};
constexpr FieldRow kObjectFieldSelector[] = {{"apiVersion", copy},
                                             {"fieldPath", rewrite, {}, rewrite_volume_field_path}};

constexpr FieldRow kAffinity[] = {
    {"nodeAffinity", copy}, {"podAffinity", walk, "PodAffinity"}, {"podAntiAffinity", walk, "PodAntiAffinity"}};
constexpr FieldRow kPodAffinity[] = {
    {"requiredDuringSchedulingIgnoredDuringExecution", walk, "PodAffinityTerm"},
    {"preferredDuringSchedulingIgnoredDuringExecution", walk, "WeightedPodAffinityTerm"},
};
constexpr FieldRow kWeightedPodAffinityTerm[] = {{"weight", copy}, {"podAffinityTerm", walk, "PodAffinityTerm"}};
// Namespaces of the tenant are labels on the host, where all its pods share one namespace.
constexpr FieldRow kPodAffinityTerm[] = {
    {"labelSelector", rewrite, {}, rewrite_affinity_term},
    {"namespaces", drop},
    {"topologyKey", copy},
    {"namespaceSelector", drop},
    {"matchLabelKeys", copy},
    {"mismatchLabelKeys", copy},
};
constexpr FieldRow kTopologySpreadConstraint[] = {
    {"maxSkew", copy},           {"topologyKey", copy},
    {"whenUnsatisfiable", copy}, {"labelSelector", rewrite, {}, rewrite_own_namespace_selector},
    {"minDomains", copy},        {"nodeAffinityPolicy", copy},
    {"nodeTaintsPolicy", copy},  {"matchLabelKeys", copy},
};

constexpr FieldRow kPodSecurityContext[] = {
    {"seLinuxOptions", walk, "SELinuxOptions"},
    {"windowsOptions", walk, "WindowsSecurityContextOptions"},
    {"runAsUser", copy},
    {"runAsGroup", copy},
    {"runAsNonRoot", copy},
    {"supplementalGroups", copy},
    {"supplementalGroupsPolicy", copy},
    {"fsGroup", copy},
    {"sysctls", rewrite, {}, refuse_unsafe_sysctls},
    {"fsGroupChangePolicy", copy},
    {"seccompProfile", rewrite, {}, refuse_unconfined},
    {"appArmorProfile", rewrite, {}, refuse_unconfined},
    {"seLinuxChangePolicy", copy},
};
constexpr FieldRow kSecurityContext[] = {
    {"capabilities", rewrite, {}, refuse_capabilities},
    {"privileged", deny, "privileged containers are not allowed in a virtual cluster"},
    {"seLinuxOptions", walk, "SELinuxOptions"},
    {"windowsOptions", walk, "WindowsSecurityContextOptions"},
    {"runAsUser", copy},
    {"runAsGroup", copy},
    {"runAsNonRoot", copy},
    {"readOnlyRootFilesystem", copy},
    {"allowPrivilegeEscalation", copy},
    {"procMount", rewrite, {}, refuse_proc_mount},
    {"seccompProfile", rewrite, {}, refuse_unconfined},
    {"appArmorProfile", rewrite, {}, refuse_unconfined},
};
constexpr FieldRow kSELinuxOptions[] = {
    {"user", deny, "SELinux users are the platform's to set"},
    {"role", deny, "SELinux roles are the platform's to set"},
    {"type", rewrite, {}, refuse_selinux_type},
    {"level", copy},
};
constexpr FieldRow kWindowsOptions[] = {
    {"gmsaCredentialSpecName", deny, kWindows},
    {"gmsaCredentialSpec", deny, kWindows},
    {"runAsUserName", copy},
    {"hostProcess", deny, kWindows},
};

constexpr FieldRow kConfigMap[] = {
    {"apiVersion", copy}, {"kind", copy}, {"metadata", rewrite, {}, rewrite_nothing},
    {"immutable", copy},  {"data", copy}, {"binaryData", copy},
};
constexpr FieldRow kSecret[] = {
    {"apiVersion", copy}, {"kind", copy},       {"metadata", rewrite, {}, rewrite_nothing}, {"immutable", copy},
    {"data", copy},       {"stringData", drop}, {"type", rewrite, {}, rewrite_secret_type},
};
constexpr FieldRow kService[] = {
    {"apiVersion", copy},          {"kind", copy},   {"metadata", rewrite, {}, rewrite_nothing},
    {"spec", walk, "ServiceSpec"}, {"status", drop},
};
constexpr FieldRow kServiceSpec[] = {
    {"ports", walk, "ServicePort"},
    {"selector", rewrite, {}, rewrite_service_selector},
    {"clusterIP", rewrite, {}, keep_only_headless},
    {"clusterIPs", drop},
    {"type", copy},
    {"externalIPs", deny, "external IPs would take traffic of other tenants"},
    {"sessionAffinity", copy},
    {"loadBalancerIP", copy},
    {"loadBalancerSourceRanges", copy},
    {"externalName", copy},
    {"externalTrafficPolicy", copy},
    {"healthCheckNodePort", drop},
    {"publishNotReadyAddresses", copy},
    {"sessionAffinityConfig", copy},
    {"ipFamilies", drop},
    {"ipFamilyPolicy", drop},  // of the host's network
    {"allocateLoadBalancerNodePorts", copy},
    {"loadBalancerClass", copy},
    {"internalTrafficPolicy", copy},
    {"trafficDistribution", copy},
};
constexpr FieldRow kServicePort[] = {{"name", copy}, {"protocol", copy},   {"appProtocol", copy},
                                     {"port", copy}, {"targetPort", copy}, {"nodePort", drop}};

constexpr TypeRows kTypes[] = {
    {"Pod", kPod},
    {"PodSpec", kPodSpec},
    {"Container", kContainer},
    {"ContainerPort", kContainerPort},
    {"EnvVar", kEnvVar},
    {"EnvVarSource", kEnvVarSource},
    {"ConfigMapKeySelector", kConfigMapKeySelector},
    {"SecretKeySelector", kSecretKeySelector},
    {"EnvFromSource", kEnvFromSource},
    {"ConfigMapEnvSource", kConfigMapEnvSource},
    {"SecretEnvSource", kSecretEnvSource},
    {"ImagePullSecret", kImagePullSecret},
    {"ResourceRequirements", kResourceRequirements},
    {"VolumeMount", kVolumeMount},
    {"Probe", kProbe},
    {"Lifecycle", kLifecycle},
    {"LifecycleHandler", kLifecycleHandler},
    {"HTTPGetAction", kHttpGetAction},
    {"TCPSocketAction", kTcpSocketAction},
    {"Volume", kVolume},
    {"SecretVolumeSource", kSecretVolumeSource},
    {"ConfigMapVolumeSource", kConfigMapVolumeSource},
    {"ProjectedVolumeSource", kProjectedVolumeSource},
    {"VolumeProjection", kVolumeProjection},
    {"SecretProjection", kSecretProjection},
    {"ConfigMapProjection", kConfigMapProjection},
    {"DownwardAPIProjection", kDownwardAPIProjection},
    {"DownwardAPIVolumeSource", kDownwardAPIVolumeSource},
    {"DownwardAPIVolumeFile", kDownwardAPIVolumeFile},
    {"ObjectFieldSelector", kObjectFieldSelector},
    {"Affinity", kAffinity},
    {"PodAffinity", kPodAffinity},
    {"PodAntiAffinity", kPodAffinity},
    {"WeightedPodAffinityTerm", kWeightedPodAffinityTerm},
    {"PodAffinityTerm", kPodAffinityTerm},
    {"TopologySpreadConstraint", kTopologySpreadConstraint},
    {"PodSecurityContext", kPodSecurityContext},
    {"SecurityContext", kSecurityContext},
    {"SELinuxOptions", kSELinuxOptions},
    {"WindowsSecurityContextOptions", kWindowsOptions},
    {"ConfigMap", kConfigMap},
    {"Secret", kSecret},
    {"Service", kService},
    {"ServiceSpec", kServiceSpec},
    {"ServicePort", kServicePort},
};

// Sources: reference/gpu-ecosystem.md sections 1.4 and 2.2 (which component trusts which key).
constexpr KeyRow kReservedKeys[] = {
    {"sublet.dev/", true, true, false},  // ours; written after the patches
    // Queues: the platform's choice, made by a template.
    {"kai.scheduler/queue", true, true, false},
    {"kueue.x-k8s.io/*", true, true, false},
    {"scheduling.volcano.sh/*", true, true, false},
    {"scheduling.k8s.io/group-name", true, true, false},
    {"volcano.sh/*", true, true, false},
    {"project", true, false, false},
    {"priorityClassName", true, false, false},
    {"kai.scheduler/preemptibility", true, true, false},
    {"kai.scheduler/node-pool", true, true, false},
    {"kai.scheduler/skip-podgrouper", true, true, false},
    {"kai.scheduler/subgroup-name", true, true, false},
    {"kai.scheduler/preemption-delay", true, true, false},
    // Records of host components: not even a template may write them.
    {"runai-gpu-group", true, true, true},
    {"runai-gpu-group/", true, true, true},
    {"pod-group-name", true, true, true},
    {"received-resource-type", true, true, true},
    {"runai/shared-gpu-configmap", true, true, true},
    {"run.ai/reserve_for_gpu_index", true, true, true},
    {"kai.scheduler/top-owner-metadata", true, true, true},
    {"kai.scheduler/stale-podgroup-timestamp", true, true, true},
    {"kai.scheduler/last-start-timestamp", true, true, true},
    // Opt-outs and device picks of other schedulers and runtimes.
    {"hami.io/*", true, true, false},
    {"nvidia.com/use-gpuuuid", true, true, false},
    {"nvidia.com/nouse-gpuuuid", true, true, false},
    {"nvidia.com/vgpu-mode", true, true, false},
    {"mps", false, true, false},
    // Kubernetes itself and cluster add-ons that act on annotations.
    {"cluster-autoscaler.kubernetes.io/*", true, true, false},
    {"karpenter.sh/*", true, true, false},
    {"scheduler.alpha.kubernetes.io/*", false, true, false},
    {"resource.kubernetes.io/*", true, true, false},
    {"container.apparmor.security.beta.kubernetes.io/*", false, true, false},
    {"seccomp.security.alpha.kubernetes.io/*", false, true, false},
    {"container.seccomp.security.alpha.kubernetes.io/*", false, true, false},
    {"kubernetes.io/ingress-bandwidth", false, true, false},
    {"kubernetes.io/egress-bandwidth", false, true, false},
    {"kubernetes.io/service-account.*", false, true, false},
    {"kubernetes.io/config.*", false, true, false},
    {"k8s.v1.cni.cncf.io/*", false, true, false},
    {"v1.multus-cni.io/*", false, true, false},
    {"sidecar.istio.io/*", true, true, false},
    {"eks.amazonaws.com/*", false, true, false},
    {"iam.gke.io/*", false, true, false},
    {"azure.workload.identity/*", true, true, false},
    {"service.beta.kubernetes.io/*", false, true, false},
    {"kubectl.kubernetes.io/last-applied-configuration", false, true, false},
    {"vcluster.loft.sh/*", true, true, false},
};

bool matches(std::string_view pattern, std::string_view key) {
  if (pattern.ends_with('*')) return key.starts_with(pattern.substr(0, pattern.size() - 1));
  if (pattern.ends_with('/')) return key.starts_with(pattern);
  return key == pattern;
}

template <class Applies>
bool reserved(std::string_view key, bool after_patches, Applies applies) {
  return std::any_of(std::begin(kReservedKeys), std::end(kReservedKeys), [&](const KeyRow& row) {
    return applies(row) && (!after_patches || row.host_owned) && matches(row.key, key);
  });
}

}  // namespace

std::span<const TypeRows> field_table() { return kTypes; }

const TypeRows* rows_of(std::string_view type) {
  for (const TypeRows& rows : kTypes)
    if (rows.type == type) return &rows;
  return nullptr;
}

std::span<const KeyRow> reserved_keys() { return kReservedKeys; }

bool reserved_label(std::string_view key, bool after_patches) {
  return reserved(key, after_patches, [](const KeyRow& row) { return row.label; });
}

bool reserved_annotation(std::string_view key, bool after_patches) {
  return reserved(key, after_patches, [](const KeyRow& row) { return row.annotation; });
}

}  // namespace sublet::syncer
