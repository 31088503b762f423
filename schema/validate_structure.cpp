// validate_structure(): what the table alone can say about a conformed, defaulted object: enums, required texts and
// pointers, unique set and map items.
//
// Upstream does not check its built-in kinds against OpenAPI; it has hand-written validation, which is laxer in places
// than the markers claim. So this pass is careful: it leaves status alone (controllers own it, and an imageID may be
// empty), does not judge required lists (a Role may have rules: null) and numbers (0 is a value), and the tables below
// list fields where upstream accepts what their marker forbids. Kinds with rules of their own have them in the API
// server's validation.
#include <algorithm>
#include <array>
#include <string>
#include <unordered_set>

#include "schema/type_plan.h"
#include "sublet/schema/engine.h"

namespace sublet::schema {

namespace {

struct FieldName {
  std::string_view type, field;
};

// Or the API server's own rules say of it what is to be said, in other words or not always.
constexpr std::array kMayBeEmpty{
    FieldName{"io.k8s.api.admissionregistration.v1.ServiceReference", "name"},
    FieldName{"io.k8s.api.admissionregistration.v1.ServiceReference", "namespace"},
    FieldName{"io.k8s.api.authentication.v1.TokenReviewSpec", "token"},
    FieldName{"io.k8s.api.discovery.v1.ForZone", "name"},
    FieldName{"io.k8s.api.storage.v1.TokenRequest", "audience"},
    FieldName{"io.k8s.api.autoscaling.v2.MetricTarget", "type"},
    FieldName{"io.k8s.api.core.v1.Container", "name"},
    FieldName{"io.k8s.api.core.v1.AppArmorProfile", "type"},
    FieldName{"io.k8s.api.core.v1.ContainerResizePolicy", "resourceName"},
    FieldName{"io.k8s.api.core.v1.ContainerResizePolicy", "restartPolicy"},
    FieldName{"io.k8s.api.core.v1.DownwardAPIVolumeFile", "path"},
    FieldName{"io.k8s.api.core.v1.EndpointAddress", "ip"},
    FieldName{"io.k8s.api.core.v1.EphemeralContainerCommon", "name"},
    FieldName{"io.k8s.api.core.v1.HTTPHeader", "value"},
    FieldName{"io.k8s.api.core.v1.ObjectFieldSelector", "fieldPath"},
    FieldName{"io.k8s.api.core.v1.ResourceClaim", "name"},
    FieldName{"io.k8s.api.core.v1.ResourceFieldSelector", "resource"},
    FieldName{"io.k8s.api.core.v1.SeccompProfile", "type"},
    FieldName{"io.k8s.api.core.v1.ServiceAccountTokenProjection", "path"},
    FieldName{"io.k8s.api.core.v1.Sysctl", "value"},
    FieldName{"io.k8s.api.core.v1.Taint", "effect"},
    FieldName{"io.k8s.api.core.v1.Taint", "key"},
    FieldName{"io.k8s.api.core.v1.TypedLocalObjectReference", "name"},
    FieldName{"io.k8s.api.flowcontrol.v1.LimitResponse", "type"},
    FieldName{"io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceColumnDefinition", "jsonPath"},
    FieldName{"io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceColumnDefinition", "name"},
    FieldName{"io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceColumnDefinition", "type"},
    FieldName{"io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionVersion", "name"},
    FieldName{"io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceSubresourceScale",
              "specReplicasPath"},
    FieldName{"io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceSubresourceScale",
              "statusReplicasPath"},
    FieldName{"io.k8s.api.resource.v1.CELDeviceSelector", "expression"},
    FieldName{"io.k8s.api.resource.v1.DeviceRequest", "name"},
    FieldName{"io.k8s.api.resource.v1.DeviceSubRequest", "deviceClassName"},
    FieldName{"io.k8s.api.resource.v1.DeviceSubRequest", "name"},
    FieldName{"io.k8s.api.resource.v1.ExactDeviceRequest", "deviceClassName"},
    // An object's own are judged with its metadata; a template's are nobody's.
    FieldName{"io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference", "apiVersion"},
    FieldName{"io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference", "kind"},
    FieldName{"io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference", "name"},
    FieldName{"io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference", "uid"},
};

/// Choices of which the API server's own rules speak: in another order, with others, or elsewhere.
constexpr std::array kChosenElsewhere{
    FieldName{"io.k8s.api.apps.v1.DaemonSetUpdateStrategy", "type"},
    FieldName{"io.k8s.api.apps.v1.DeploymentStrategy", "type"},
    FieldName{"io.k8s.api.apps.v1.StatefulSetUpdateStrategy", "type"},
    FieldName{"io.k8s.api.core.v1.AppArmorProfile", "type"},
    FieldName{"io.k8s.api.core.v1.PersistentVolumeClaimSpec", "accessModes"},
    FieldName{"io.k8s.api.core.v1.PersistentVolumeClaimSpec", "volumeMode"},
    FieldName{"io.k8s.api.core.v1.PodSpec", "preemptionPolicy"},
    FieldName{"io.k8s.api.core.v1.SeccompProfile", "type"},
    FieldName{"io.k8s.api.core.v1.Taint", "effect"},
    FieldName{"io.k8s.api.core.v1.Toleration", "operator"},
    FieldName{"io.k8s.api.core.v1.VolumeMount", "mountPropagation"},
    FieldName{"io.k8s.api.core.v1.VolumeMount", "recursiveReadOnly"},
    FieldName{"io.k8s.api.resource.v1.DeviceToleration", "operator"},
    FieldName{"io.k8s.api.scheduling.v1.PriorityClass", "preemptionPolicy"},
};

constexpr std::array kMayRepeat{
    FieldName{"io.k8s.api.admissionregistration.v1.ValidatingAdmissionPolicySpec", "variables"},
    FieldName{"io.k8s.api.core.v1.Container", "env"},
    FieldName{"io.k8s.api.core.v1.Container", "ports"},
    FieldName{"io.k8s.api.core.v1.EphemeralContainerCommon", "env"},
    FieldName{"io.k8s.api.core.v1.EphemeralContainerCommon", "ports"},
    FieldName{"io.k8s.api.core.v1.NodeSpec", "podCIDRs"},
    FieldName{"io.k8s.api.core.v1.PodSpec", "imagePullSecrets"},
    FieldName{"io.k8s.api.core.v1.PodSpec", "hostAliases"},
    FieldName{"io.k8s.api.core.v1.PodSpec", "schedulingGates"},
    FieldName{"io.k8s.api.core.v1.PodSpec", "topologySpreadConstraints"},
    FieldName{"io.k8s.api.core.v1.ContainerRestartRuleOnExitCodes", "values"},
    FieldName{"io.k8s.api.core.v1.ResourceRequirements", "claims"},  // unique by name and request
    FieldName{"io.k8s.api.core.v1.ServiceAccount", "secrets"},
    FieldName{"io.k8s.api.discovery.v1.Endpoint", "addresses"},
    FieldName{"io.k8s.api.flowcontrol.v1.NonResourcePolicyRule", "nonResourceURLs"},
    FieldName{"io.k8s.api.flowcontrol.v1.NonResourcePolicyRule", "verbs"},
    FieldName{"io.k8s.api.flowcontrol.v1.ResourcePolicyRule", "apiGroups"},
    FieldName{"io.k8s.api.flowcontrol.v1.ResourcePolicyRule", "namespaces"},
    FieldName{"io.k8s.api.flowcontrol.v1.ResourcePolicyRule", "resources"},
    FieldName{"io.k8s.api.flowcontrol.v1.ResourcePolicyRule", "verbs"},
    FieldName{"io.k8s.api.storage.v1.CSIDriverSpec", "volumeLifecycleModes"},
    FieldName{"io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta", "finalizers"},
    FieldName{"io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta", "ownerReferences"},
};

template <std::size_t N>
bool listed(const std::array<FieldName, N>& names, const TypePlan& owner, const FieldPlan& field) {
  const Type embedded = field.embedded(), type = embedded ? embedded : owner.type;
  return std::any_of(names.begin(), names.end(),
                     [&](const FieldName& name) { return name.field == field.name && name.type == type.name(); });
}

/// Where the pass stands; a path in words is only made for a cause.
struct Place {
  const Place* parent = nullptr;
  std::string_view name;         // of a field, or (`entry`) of a map's entry
  std::size_t index = kNoIndex;  // of a list's item
  bool entry = false;

  static constexpr std::size_t kNoIndex = static_cast<std::size_t>(-1);
};

class Validator {
 public:
  Validator(const std::string& root, std::vector<Cause>& causes) : root_(root), causes_(causes) {}

  void object(const Value& value, const TypePlan& plan, const Place* at) {
    std::size_t expected = 0;
    const std::size_t frame = members_.size();
    members_.resize(frame + plan.fields.size());
    for (const Value member : value) {
      const std::size_t index = plan.find(member.key(), expected);
      if (index == TypePlan::npos) continue;
      expected = index + 1;
      members_[frame + index] = member;
    }
    for (std::size_t i = 0; i < plan.fields.size(); ++i) {
      const FieldPlan& field = plan.fields[i];
      if (!field.required && !field.constrained && field.scalar != Scalar::message) continue;
      // Also that of an object inside another, as a claim's in a template.
      if (field.name == "status" && ((!at && root_.empty()) || field.scalar == Scalar::message)) continue;
      const Place here{at, field.name};
      member(members_[frame + i], field, plan, here);  // members_ may move meanwhile
    }
    members_.resize(frame);
  }

 private:
  void member(const Value value, const FieldPlan& plan, const TypePlan& owner, const Place& at) {
    const bool missing = value.missing() || value.is_null();
    if (plan.required && lacks(value, plan, missing) && !listed(kMayBeEmpty, owner, plan))
      causes_.push_back({"FieldValueRequired", "Required value", path_of(&at)});
    if (missing) return;
    switch (plan.shape) {
      case Shape::single:
        return single(value, plan, owner, at);
      case Shape::list:
        return list(value, plan, owner, at);
      case Shape::map:
        for (const Value entry : value) single(entry, plan, owner, Place{&at, entry.key(), Place::kNoIndex, true});
        return;
      case Shape::map_of_lists:
        return;
    }
  }

  static bool lacks(const Value& value, const FieldPlan& plan, bool missing) {
    if (plan.collection()) return false;
    if (plan.pointer) return missing;
    return plan.scalar == Scalar::string && value.text().empty();
  }

  void list(const Value& value, const FieldPlan& plan, const TypePlan& owner, const Place& at) {
    std::size_t index = 0;
    for (const Value item : value) single(item, plan, owner, Place{&at, {}, index++});
    if (plan.constrained) unique(value, plan, owner, at);
  }

  void single(const Value& value, const FieldPlan& plan, const TypePlan& owner, const Place& at) {
    if (plan.scalar == Scalar::message) return object(value, plan_of(plan), &at);
    if (!plan.constrained || value.text().empty()) return;
    const StringList allowed = plan.field().enum_values();
    if (allowed.empty() || allowed.contains(value.text()) || listed(kChosenElsewhere, owner, plan)) return;
    std::string message = "Unsupported value: ";
    append_json_string(message, value.text());
    message += ": supported values: ";
    const char* separator = "";
    for (const std::string_view choice : allowed) {
      if (choice.empty()) continue;
      message += separator;
      append_json_string(message, choice);
      separator = ", ";
    }
    causes_.push_back({"FieldValueNotSupported", std::move(message), path_of(&at)});
  }

  void unique(const Value& value, const FieldPlan& plan, const TypePlan& owner, const Place& at) {
    const ListType type = plan.field().list_type();
    if ((type != ListType::set && type != ListType::map) || value.size() < 2 || listed(kMayRepeat, owner, plan)) return;
    const StringList keys = type == ListType::map ? plan.field().list_map_keys() : StringList();
    std::unordered_set<std::string> met;
    std::size_t index = 0;
    for (const Value item : value) {
      const Place here{&at, {}, index++};
      std::string identity = identity_of(item, keys);
      if (met.insert(identity).second) continue;
      std::string path = path_of(&here);
      if (keys.size() == 1) path.append(".").append(keys[0]);
      causes_.push_back({"FieldValueDuplicate", "Duplicate value: " + identity, std::move(path)});
    }
  }

  /// What tells items apart, as upstream prints it: the one key's value, the keys as an object, or the item itself.
  static std::string identity_of(const Value& item, const StringList& keys) {
    std::string out;
    if (keys.empty()) {
      item.append_json(out);
      return out;
    }
    if (keys.size() == 1) {
      item[keys[0]].append_json(out);
      return out;
    }
    char separator = '{';
    for (const std::string_view key : keys) {
      out += separator;
      append_json_string(out, key);
      out += ':';
      item[key].append_json(out);
      separator = ',';
    }
    return out += '}';
  }

  std::string path_of(const Place* at) const {
    if (!at) return root_;
    std::string path = path_of(at->parent);
    if (at->index != Place::kNoIndex) return path + '[' + std::to_string(at->index) + ']';
    if (at->entry) return path.append("[").append(at->name).append("]");
    if (!path.empty()) path += '.';
    return path.append(at->name);
  }

  const std::string& root_;
  std::vector<Cause>& causes_;
  std::vector<Value> members_;
};

}  // namespace

void validate_structure(const Value& value, Type type, const std::string& path, std::vector<Cause>& causes) {
  if (value.is_object()) Validator(path, causes).object(value, plan_of(type), nullptr);
}

}  // namespace sublet::schema
