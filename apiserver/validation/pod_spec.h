// PodSpec: the rules for what a pod may say, shared by pods and by the templates of workload kinds. Pure.
//
// Only what the schema cannot express: required fields, enums and list keys are validate_structure()'s. A rule that is
// missing here surfaces at the host's API server; a rule that is wrong here hurts at once, so doubtful ones stay out.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "apiserver/validation/field_errors.h"

namespace sublet::apiserver {

/// Fills defaults of a pod spec (also inside templates).
void default_pod_spec(schema::Value spec);
/// What only a Pod itself gets: requests from limits, host ports, service links.
void default_pod_only(schema::Value spec);

/// `is_pod`: a Pod itself, not a template.
void validate_pod_spec(Causes& causes, const std::string& path, const schema::Value& spec, bool is_pod);
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
void validate_affinity(Causes& causes, const std::string& path, const schema::Value& affinity);
void validate_topology_spread(Causes& causes, const std::string& path, const schema::Value& constraints);
/// Volumes in which nothing is wrong; only these can be mounted. Refers to the pod.
struct SoundVolumes {
  std::set<std::string_view> names;
  std::set<std::string_view> claimed;  // those of a claim, which may be block devices
};
SoundVolumes validate_volumes(Causes& causes, const std::string& path, const schema::Value& volumes);
/// What a hostPath or a local volume says of its place on the node: path and type.
void validate_volume_path(Causes& causes, const std::string& path, const schema::Value& source);
/// Whether ".." is one of the parts of a path.
bool steps_back(std::string_view path);
void validate_no_backsteps(Causes& causes, const std::string& path, std::string_view value);
/// A path that stays inside its folder ("a/b", not "/a" and not "../a").
void validate_relative_path(Causes& causes, const std::string& path, std::string_view value);
/// seccompProfile and appArmorProfile of a security context: a profile of the node stands below the kubelet's folder.
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
