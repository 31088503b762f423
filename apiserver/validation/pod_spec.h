// PodSpec: the rules for what a pod may say, shared by pods and by the templates of workload kinds. Pure.
//
// Only what the schema cannot express: required fields, enums and list keys are validate_structure()'s. A rule that is
// missing here surfaces at the host's API server; a rule that is wrong here hurts at once, so doubtful ones stay out.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>

#include "apiserver/validation/field_errors.h"

namespace sublet::apiserver {

inline constexpr std::int64_t kInt32Max = 2147483647;
/// The members of a pod spec that list containers.
inline constexpr std::string_view kContainerLists[] = {"containers", "initContainers", "ephemeralContainers"};
/// The members of a container that are probes.
inline constexpr std::string_view kProbes[] = {"livenessProbe", "readinessProbe", "startupProbe"};

/// Returns true if a container of any list has the name.
bool has_container(const schema::Value& spec, std::string_view name);

/// Fills defaults of a pod spec (also inside templates).
void default_pod_spec(schema::Value spec);
/// What only a Pod itself gets: requests from limits, host ports, service links.
void default_pod_only(schema::Value spec);

/// `metadata`: of a Pod itself; missing for a template's.
void validate_pod_spec(Causes& causes, const std::string& path, const schema::Value& spec,
                       const schema::Value& metadata);
/// Annotations that mean something in a pod or a template, at `path`.
void validate_pod_annotations(Causes& causes, const std::string& path, const schema::Value& annotations,
                              const schema::Value& spec);
/// Those that no update may touch.
void validate_pod_annotations_update(Causes& causes, const std::string& path, const schema::Value& annotations,
                                     const schema::Value& old);
/// Annotations that say the same as fields must say the same as they do; `path`: of the spec.
void validate_profiles_agree(Causes& causes, const std::string& path, const schema::Value& annotations,
                             const schema::Value& spec);
/// An appArmorProfile.
void validate_app_armor_profile(Causes& causes, const std::string& path, const schema::Value& profile);
/// A Pod's status, as an update of it may leave it.
void validate_pod_status_update(Causes& causes, const schema::Value& pod, const schema::Value& old_pod);
/// spec.template of workload kinds: labels, annotations, spec.
void validate_pod_template(Causes& causes, const std::string& path, const schema::Value& pod_template);
/// The few fields of a Pod's spec that may change.
void validate_pod_spec_update(Causes& causes, const std::string& path, const schema::Value& spec,
                              const schema::Value& old_spec);

/// What /ephemeralcontainers may change of a spec, and /resize of a Pod.
void validate_ephemeral_containers_update(Causes& causes, const std::string& path, const schema::Value& spec,
                                          const schema::Value& old_spec);
void validate_pod_resize(Causes& causes, const schema::Value& pod, const schema::Value& old_pod);

void validate_tolerations(Causes& causes, const std::string& path, const schema::Value& tolerations);
/// required...: NodeSelector with terms.
void validate_node_selector(Causes& causes, const std::string& path, const schema::Value& selector);
/// `labels`: those of the Pod itself, which are going to be merged into selectors; missing for a template's.
void validate_affinity(Causes& causes, const std::string& path, const schema::Value& affinity,
                       const schema::Value& labels);
void validate_topology_spread(Causes& causes, const std::string& path, const schema::Value& constraints,
                              const schema::Value& labels);
/// The node affinity of a gated pod may only become narrower.
void validate_node_affinity_update(Causes& causes, const std::string& path, const schema::Value& affinity,
                                   const schema::Value& old);
/// Volumes in which nothing is wrong; only these can be mounted. Refers to the pod.
struct SoundVolumes {
  std::set<std::string_view> names;
  std::set<std::string_view> claimed;  // those of a claim, which may be block devices
};
SoundVolumes validate_volumes(Causes& causes, const std::string& path, const schema::Value& volumes,
                              const schema::Value& metadata);
/// The downward API: a field of the pod, at `path`.fieldPath, one of `known`; what of a container, whose name a
/// volume must say.
void validate_field_ref(Causes& causes, const std::string& path, const schema::Value& ref,
                        std::span<const std::string_view> known);
void validate_resource_field_ref(Causes& causes, const std::string& path, const schema::Value& ref, bool in_volume);
/// What a hostPath or a local volume says of its place on the node: path and type.
void validate_volume_path(Causes& causes, const std::string& path, const schema::Value& source);
/// Whether ".." is one of the parts of a path.
bool steps_back(std::string_view path);
void validate_no_backsteps(Causes& causes, const std::string& path, std::string_view value);
/// A path that stays inside its folder ("a/b", not "/a" and not "../a").
void validate_relative_path(Causes& causes, const std::string& path, std::string_view value);
/// seccompProfile and appArmorProfile of a security context: a profile of the node lies below the kubelet's folder.
void validate_node_profiles(Causes& causes, const std::string& path, const schema::Value& security_context);
/// `spec` supplies what depends on the whole pod.
void validate_containers(Causes& causes, const std::string& path, const schema::Value& spec,
                         const SoundVolumes& volumes);
/// For pods, not for templates.
void validate_image_whitespace(Causes& causes, const std::string& path, const schema::Value& container);
/// Of a pod or a container.
void validate_windows_options(Causes& causes, const std::string& path, const schema::Value& options);

/// "latest" when the reference has neither tag nor digest; "" when it has a digest only, or is no reference.
std::string_view image_tag(std::string_view reference);

}  // namespace sublet::apiserver
