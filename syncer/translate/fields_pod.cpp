// Rows of what a tenant's pod sends to the host, from the outside in: the pod, containers, volumes, scheduling,
// security.
#include "syncer/translate/field_table.h"
#include "syncer/translate/rewrites.h"

namespace sublet::syncer {
namespace {

constexpr std::string_view kNoVolumePlugin =
    "this kind of volume is not offered to tenants; use persistentVolumeClaim, ephemeral, configMap, secret, "
    "emptyDir, downwardAPI, projected or image";
constexpr std::string_view kWindows = "Windows host processes are not allowed in a virtual cluster";

std::vector<TypeRows> pods() {
  return {
      {"Pod",
       {copy("apiVersion kind"), walk("metadata", "ObjectMeta"), walk("spec", "PodSpec"),
        drop("status", "the host says it, and it comes back")}},
      {"PodSpec",
       {
           walk("volumes", "Volume"),
           walk("initContainers containers", "Container"),
           walk("ephemeralContainers", "EphemeralContainer"),
           copy("restartPolicy"),
           clamp("terminationGracePeriodSeconds", clamp_grace_period),
           copy("activeDeadlineSeconds"),
           rewrite("dnsPolicy", written_after_rows),
           rewrite("nodeSelector", keep_to_shown_nodes),
           force("serviceAccountName serviceAccount", "a ServiceAccount without rights"),
           force("automountServiceAccountToken", "false: tokens are the tenant's, in a volume"),
           clamp("nodeName", refuse_node_name),
           deny("hostNetwork hostPID hostIPC", "sharing the node's namespaces is not allowed in a virtual cluster"),
           copy("shareProcessNamespace"),
           walk("securityContext", "PodSecurityContext"),
           walk("imagePullSecrets", "ImagePullSecret"),
           rewrite("hostname", written_after_rows),
           drop("subdomain", "it would be resolved in the host namespace's domain"),
           walk("affinity", "Affinity"),
           clamp("schedulerName", refuse_scheduler),
           clamp("tolerations", clamp_tolerations, "Toleration"),
           walk("hostAliases", "HostAlias"),
           clamp("priorityClassName", rewrite_priority_class),
           drop("priority preemptionPolicy", "the host's PriorityClass says them"),
           walk("dnsConfig", "PodDNSConfig"),
           drop("readinessGates", "they are judged by the tenant's conditions, as its status comes back"),
           copy("runtimeClassName"),
           force("enableServiceLinks", "false: the tenant's services come as plain variables"),
           drop("overhead", "the host's RuntimeClass says it again"),
           walk("topologySpreadConstraints", "TopologySpreadConstraint"),
           warn("setHostnameAsFQDN",
                "the host would make it a name of its own namespace's domain; the hostname stays short"),
           walk("os", "PodOS"),
           copy("hostUsers"),
           walk("schedulingGates", "PodSchedulingGate"),
           walk("resourceClaims", "PodResourceClaim"),
           walk("resources", "ResourceRequirements"),
           copy("hostnameOverride"),
           walk("schedulingGroup", "PodSchedulingGroup"),
       }},
      {"ImagePullSecret", {rewrite("name", rewrite_pull_secret_name)}, "io.k8s.api.core.v1.LocalObjectReference"},
      {"HostAlias", {copy("ip hostnames")}},
      {"PodDNSConfig", {copy("nameservers searches"), walk("options", "PodDNSConfigOption")}},
      {"PodDNSConfigOption", {copy("name value")}},
      {"PodOS", {copy("name")}},
      {"PodSchedulingGate", {rewrite("name", rewrite_gate_name)}},
      {"PodSchedulingGroup", {rewrite("podGroupName", rewrite_group_name)}},
  };
}

std::vector<TypeRows> containers() {
  return {
      {"Container",
       {
           copy("name image command args workingDir"),
           walk("ports", "ContainerPort"),
           walk("envFrom", "EnvFromSource"),
           clamp("env", leave_out_steering_variables, "EnvVar"),
           walk("resources", "ResourceRequirements"),
           walk("resizePolicy", "ContainerResizePolicy"),
           copy("restartPolicy"),
           walk("restartPolicyRules", "ContainerRestartRule"),
           walk("volumeMounts", "VolumeMount"),
           walk("volumeDevices", "VolumeDevice"),
           walk("livenessProbe readinessProbe startupProbe", "Probe"),
           walk("lifecycle", "Lifecycle"),
           copy("terminationMessagePath terminationMessagePolicy imagePullPolicy"),
           walk("securityContext", "SecurityContext"),
           copy("stdin stdinOnce tty"),
       }},
      {"EphemeralContainer",
       {
           copy("name image command args workingDir targetContainerName"),
           deny("ports resizePolicy restartPolicy restartPolicyRules livenessProbe readinessProbe "
                "startupProbe "
                "lifecycle",
                "an ephemeral container has none"),
           walk("resources", "NoResources"),
           walk("envFrom", "EnvFromSource"),
           clamp("env", leave_out_steering_variables, "EnvVar"),
           walk("volumeMounts", "VolumeMount"),
           walk("volumeDevices", "VolumeDevice"),
           copy("terminationMessagePath terminationMessagePolicy imagePullPolicy"),
           walk("securityContext", "SecurityContext"),
           copy("stdin stdinOnce tty"),
       }},
      // It is sent empty, as all clients in Go do.
      {"NoResources",
       {deny("limits requests claims", "an ephemeral container has none")},
       "io.k8s.api.core.v1.ResourceRequirements"},
      {"ContainerPort",
       {copy("name containerPort protocol"),
        deny("hostPort", "ports of the node are not offered to tenants; expose the pod by a Service"),
        drop("hostIP", "it means nothing without hostPort")}},
      {"EnvFromSource",
       {clamp("prefix", refuse_steering_prefix), walk("configMapRef", "ConfigMapEnvSource"),
        walk("secretRef", "SecretEnvSource")}},
      {"ConfigMapEnvSource", {rewrite("name", rewrite_config_map_name), copy("optional")}},
      {"SecretEnvSource", {rewrite("name", rewrite_secret_name), copy("optional")}},
      {"EnvVar", {copy("name value"), walk("valueFrom", "EnvVarSource")}, {}, answer_variable},
      {"EnvVarSource",
       {walk("fieldRef", "EnvFieldSelector"), walk("resourceFieldRef", "ResourceFieldSelector"),
        walk("configMapKeyRef", "ConfigMapKeySelector"), walk("secretKeyRef", "SecretKeySelector"),
        walk("fileKeyRef", "FileKeySelector")}},
      // What names a tenant's fact is answered by now (EnvVar): what is left asks the host.
      {"EnvFieldSelector",
       {copy("apiVersion"), clamp("fieldPath", refuse_field_path)},
       "io.k8s.api.core.v1.ObjectFieldSelector"},
      {"ResourceFieldSelector", {copy("containerName resource divisor")}},
      {"ConfigMapKeySelector", {rewrite("name", rewrite_config_map_name), copy("key optional")}},
      {"SecretKeySelector", {rewrite("name", rewrite_secret_name), copy("key optional")}},
      {"FileKeySelector", {copy("volumeName path key optional")}},
      {"ResourceRequirements", {clamp("limits requests", refuse_resources), walk("claims", "ContainerClaim")}},
      {"ContainerClaim", {copy("name request")}, "io.k8s.api.core.v1.ResourceClaim"},
      {"PodResourceClaim",
       {copy("name"), rewrite("resourceClaimName", rewrite_device_claim_name),
        rewrite("resourceClaimTemplateName", rewrite_device_template_name)}},
      {"ContainerResizePolicy", {copy("resourceName restartPolicy")}},
      {"ContainerRestartRule", {copy("action"), walk("exitCodes", "ContainerRestartRuleOnExitCodes")}},
      {"ContainerRestartRuleOnExitCodes", {copy("operator values")}},
      {"VolumeMount",
       {copy("name readOnly recursiveReadOnly mountPath subPath"), clamp("mountPropagation", refuse_mount_propagation),
        copy("subPathExpr")}},
      {"Probe",
       {walk("exec", "ExecAction"), walk("httpGet", "HTTPGetAction"), walk("tcpSocket", "TCPSocketAction"),
        walk("grpc", "GRPCAction"),
        copy("initialDelaySeconds timeoutSeconds periodSeconds successThreshold failureThreshold"),
        clamp("terminationGracePeriodSeconds", clamp_grace_period)}},
      {"Lifecycle", {walk("postStart preStop", "LifecycleHandler"), copy("stopSignal")}},
      {"LifecycleHandler",
       {walk("exec", "ExecAction"), walk("httpGet", "HTTPGetAction"), walk("tcpSocket", "TCPSocketAction"),
        walk("sleep", "SleepAction")}},
      {"ExecAction", {copy("command")}},
      // The kubelet would call another host from the node's network.
      {"HTTPGetAction",
       {copy("path port"), clamp("host", refuse_foreign_host), copy("scheme"), walk("httpHeaders", "HTTPHeader")}},
      {"HTTPHeader", {copy("name value")}},
      {"TCPSocketAction", {copy("port"), clamp("host", refuse_foreign_host)}},
      {"GRPCAction", {copy("port service")}},
      {"SleepAction", {copy("seconds")}},
  };
}

std::vector<TypeRows> pod_volume_fields() {
  return {
      {"Volume",
       {
           copy("name"),
           deny("hostPath", "paths of the node are not offered to tenants"),
           walk("emptyDir", "EmptyDirVolumeSource"),
           walk("secret", "SecretVolumeSource"),
           walk("downwardAPI", "DownwardAPIVolumeSource"),
           walk("configMap", "ConfigMapVolumeSource"),
           walk("projected", "ProjectedVolumeSource"),
           walk("image", "ImageVolumeSource"),
           walk("persistentVolumeClaim", "PersistentVolumeClaimVolumeSource"),
           rewrite("ephemeral", rewrite_ephemeral_volume, "EphemeralVolumeSource"),
           deny("gcePersistentDisk awsElasticBlockStore gitRepo nfs iscsi glusterfs rbd flexVolume cinder cephfs "
                "flocker fc azureFile vsphereVolume quobyte azureDisk photonPersistentDisk portworxVolume scaleIO "
                "storageos csi",
                kNoVolumePlugin),
       }},
      {"EmptyDirVolumeSource", {copy("medium sizeLimit")}},
      {"ImageVolumeSource", {copy("reference pullPolicy")}},
      {"PersistentVolumeClaimVolumeSource", {rewrite("claimName", rewrite_claim_name), copy("readOnly")}},
      {"EphemeralVolumeSource",
       {force("volumeClaimTemplate", "the tenant's controller makes the claim, which crosses by itself")}},
      {"VolumeDevice", {copy("name devicePath")}},
      {"SecretVolumeSource",
       {rewrite("secretName", rewrite_secret_name), walk("items", "KeyToPath"), copy("defaultMode optional")}},
      {"ConfigMapVolumeSource",
       {rewrite("name", rewrite_config_map_name), walk("items", "KeyToPath"), copy("defaultMode optional")}},
      {"KeyToPath", {copy("key path mode")}},
      {"ProjectedVolumeSource", {walk("sources", "VolumeProjection"), copy("defaultMode")}},
      {"VolumeProjection",
       {
           walk("secret", "SecretProjection"),
           walk("downwardAPI", "DownwardAPIProjection"),
           walk("configMap", "ConfigMapProjection"),
           rewrite("serviceAccountToken", rewrite_token_projection, "ServiceAccountTokenProjection"),
           deny("clusterTrustBundle", "cluster trust bundles are not synced to the host by this version of sublet"),
           deny("podCertificate", "pod certificates would be issued in the host's name"),
       }},
      {"SecretProjection", {rewrite("name", rewrite_secret_name), walk("items", "KeyToPath"), copy("optional")}},
      {"ConfigMapProjection", {rewrite("name", rewrite_config_map_name), walk("items", "KeyToPath"), copy("optional")}},
      {"ServiceAccountTokenProjection",
       {force("audience expirationSeconds path", "the tenant's token, from a Secret that the syncer keeps fresh")}},
      {"DownwardAPIProjection", {walk("items", "DownwardAPIVolumeFile")}},
      {"DownwardAPIVolumeSource", {walk("items", "DownwardAPIVolumeFile"), copy("defaultMode")}},
      {"DownwardAPIVolumeFile",
       {copy("path"), walk("fieldRef", "ObjectFieldSelector"), walk("resourceFieldRef", "ResourceFieldSelector"),
        copy("mode")}},
      {"ObjectFieldSelector", {copy("apiVersion"), rewrite("fieldPath", rewrite_volume_field_path)}},
  };
}

std::vector<TypeRows> scheduling() {
  return {
      {"Toleration", {copy("key operator value effect tolerationSeconds")}},
      {"Affinity",
       {walk("nodeAffinity", "NodeAffinity"), walk("podAffinity", "PodAffinity"),
        walk("podAntiAffinity", "PodAntiAffinity")}},
      {"NodeAffinity",
       {walk("requiredDuringSchedulingIgnoredDuringExecution", "NodeSelector"),
        walk("preferredDuringSchedulingIgnoredDuringExecution", "PreferredSchedulingTerm")}},
      {"NodeSelector", {walk("nodeSelectorTerms", "NodeSelectorTerm")}},
      {"PreferredSchedulingTerm", {copy("weight"), walk("preference", "NodeSelectorTerm")}},
      {"NodeSelectorTerm", {walk("matchExpressions matchFields", "NodeSelectorRequirement")}},
      {"NodeSelectorRequirement",
       {clamp("key", refuse_node_label), copy("operator"), rewrite("values", find_required_nodes)}},
      {"PodAffinity",
       {walk("requiredDuringSchedulingIgnoredDuringExecution", "PodAffinityTerm"),
        walk("preferredDuringSchedulingIgnoredDuringExecution", "WeightedPodAffinityTerm")}},
      {"PodAntiAffinity",
       {walk("requiredDuringSchedulingIgnoredDuringExecution", "PodAffinityTerm"),
        walk("preferredDuringSchedulingIgnoredDuringExecution", "WeightedPodAffinityTerm")}},
      {"WeightedPodAffinityTerm", {copy("weight"), walk("podAffinityTerm", "PodAffinityTerm")}},
      {"PodAffinityTerm",
       {walk("labelSelector", "LabelSelector"),
        force("namespaces namespaceSelector",
              "on the host all of a tenant's pods share one namespace: the tenant's is a label, and labelSelector asks "
              "for it"),
        copy("topologyKey"), rewrite("matchLabelKeys mismatchLabelKeys", rewrite_label_keys)},
       {},
       rewrite_affinity_term},
      {"TopologySpreadConstraint",
       {copy("maxSkew topologyKey whenUnsatisfiable"),
        rewrite("labelSelector", rewrite_own_namespace_selector, "LabelSelector"),
        copy("minDomains nodeAffinityPolicy nodeTaintsPolicy"), rewrite("matchLabelKeys", rewrite_label_keys)}},
      // The row that leads here has translated it.
      {"LabelSelector",
       {copy("matchLabels"), walk("matchExpressions", "LabelSelectorRequirement")},
       "io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector"},
      {"LabelSelectorRequirement",
       {copy("key operator values")},
       "io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelectorRequirement"},
  };
}

std::vector<TypeRows> security() {
  return {
      {"PodSecurityContext",
       {
           walk("seLinuxOptions", "SELinuxOptions"),
           walk("windowsOptions", "WindowsSecurityContextOptions"),
           copy("runAsUser runAsGroup runAsNonRoot supplementalGroups supplementalGroupsPolicy fsGroup"),
           clamp("sysctls", refuse_unsafe_sysctls, "Sysctl"),
           copy("fsGroupChangePolicy"),
           clamp("seccompProfile", refuse_unconfined, "SeccompProfile"),
           clamp("appArmorProfile", refuse_unconfined, "AppArmorProfile"),
           copy("seLinuxChangePolicy"),
       }},
      {"SecurityContext",
       {
           clamp("capabilities", refuse_capabilities, "Capabilities"),
           deny("privileged", "privileged containers are not allowed in a virtual cluster"),
           walk("seLinuxOptions", "SELinuxOptions"),
           walk("windowsOptions", "WindowsSecurityContextOptions"),
           copy("runAsUser runAsGroup runAsNonRoot readOnlyRootFilesystem allowPrivilegeEscalation"),
           clamp("procMount", refuse_proc_mount),
           clamp("seccompProfile", refuse_unconfined, "SeccompProfile"),
           clamp("appArmorProfile", refuse_unconfined, "AppArmorProfile"),
       }},
      {"Capabilities", {copy("add drop")}},
      {"Sysctl", {copy("name value")}},
      {"SeccompProfile", {copy("type localhostProfile")}},
      {"AppArmorProfile", {copy("type localhostProfile")}},
      {"SELinuxOptions",
       {deny("user", "SELinux users are the platform's to set"),
        deny("role", "SELinux roles are the platform's to set"), clamp("type", refuse_selinux_type), copy("level")}},
      {"WindowsSecurityContextOptions",
       {deny("gmsaCredentialSpecName gmsaCredentialSpec", kWindows), copy("runAsUserName"),
        deny("hostProcess", kWindows)}},
  };
}

}  // namespace

std::vector<TypeRows> pod_fields() {
  std::vector<TypeRows> all = pods();
  for (auto part : {containers(), pod_volume_fields(), scheduling(), security()})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace sublet::syncer
