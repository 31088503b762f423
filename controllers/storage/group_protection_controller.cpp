// A PodGroup that pods name outlives its deletion, until they have ended.
// Source: pkg/controller/scheduling/podgroupprotection of Kubernetes.

#include "controllers/pods/pod.h"
#include "controllers/runtime/kinds.h"
#include "controllers/runtime/object_ref.h"
#include "controllers/storage/protection.h"
#include "sublet/kube/json_scan.h"

namespace sublet::controllers {
namespace {

const kube::Resource kPodGroups{"scheduling.k8s.io", "v1alpha2", "podgroups"};
constexpr std::string_view kPodGroupFinalizer = "scheduling.k8s.io/podgroup-protection";

/// "": of none.
std::string pod_group_of(const store::Object& pod) {
  return kube::json_unquote(raw_of(pod, {"spec", "schedulingGroup", "podGroupName"}));
}

class GroupProtectionController final : public Controller {
 public:
  explicit GroupProtectionController(Context& context)
      : context_(context), pods_(context.lister(kPods)), groups_(context.lister(kPodGroups)) {}

  // Of pods only what may set a group free matters.
  void start() override {
    context_.on_change(kPodGroups, [this](const Change& change) {
      if (change.after && is_ending(*change.after)) context_.enqueue(key_of(*change.after));
    });
    context_.on_change(kPods, [this](const Change& change) {
      const auto& pod = change.object();
      if (change.after && !has_ended(pod)) return;
      if (const std::string group = pod_group_of(pod); !group.empty())
        context_.enqueue(key_of(namespace_of(pod), group));
    });
  }

  Outcome reconcile(const std::string& key) override {
    const auto parts = parts_of(key);
    const auto group = groups_.get(parts.namespace_name, parts.name);
    if (!group || !is_ending(*group) || !has_finalizer(*group, kPodGroupFinalizer) || is_used(*group)) return {};
    return remove_finalizer(context_.client(), kPodGroups, *group, kPodGroupFinalizer);
  }

 private:
  bool is_used(const store::Object& group) const {
    for (const auto& pod : pods_.list(namespace_of(group)))
      if (!has_ended(*pod) && pod_group_of(*pod) == name_of(group)) return true;
    return false;
  }

  Context& context_;
  const Lister pods_, groups_;
};

}  // namespace

std::unique_ptr<Controller> make_group_protection_controller(Context& context) {
  return std::make_unique<GroupProtectionController>(context);
}

}  // namespace sublet::controllers
