// Pod garbage collection. A terminating pod without a node gets phase Failed, since no kubelet will write it and a Job
// may wait for it. When too many pods have ended, the oldest are deleted. Unlike upstream, pods of an unknown node
// stay: the host ends its pods itself, and a template may hide nodes. Source: pkg/controller/podgc of Kubernetes.

#include <algorithm>
#include <atomic>

#include "controllers/pods/pod.h"
#include "controllers/runtime/calls.h"
#include "controllers/runtime/kinds.h"
#include "controllers/runtime/object_ref.h"
#include "sublet/controllers/controller.h"
#include "sublet/controllers/controllers.h"

namespace sublet::controllers {
namespace {

constexpr std::string_view kPodSweep = "sweep", kOnePodKey = "pod/";
constexpr std::chrono::seconds kSweepAfter{20};  // many that end together are swept together

bool is_on_no_node(const store::Object& pod) { return raw_of(pod, {"spec", "nodeName"}).size() <= 2; }

/// Evicted ones first, then the oldest.
bool is_collected_first(const Pod& a, const Pod& b) {
  const auto evicted = [](const Pod& pod) {
    return pod.phase() == "Failed" && pod.status()["reason"].text() == "Evicted";
  };
  if (evicted(a) != evicted(b)) return evicted(a);
  return a.created() != b.created() ? a.created() < b.created() : a.name() < b.name();
}

class PodGcController final : public Controller {
 public:
  explicit PodGcController(Context& context) : context_(context), pods_(context.lister(kPods)) {}

  void start() override {
    context_.on_change(kPods, [this](const Change& change) {
      if (!change.after) return;
      const auto& pod = *change.after;
      if (is_ending(pod) && is_on_no_node(pod)) context_.enqueue(std::string(kOnePodKey) + key_of(pod));
      const bool ended_before = change.before && has_ended(*change.before);
      if (has_ended(pod) && !ended_before && pods_.count() > context_.options().ended_pods_max &&
          !waiting_.exchange(true))
        context_.enqueue_after(std::string(kPodSweep), kSweepAfter);
    });
  }

  Outcome reconcile(const std::string& key) override {
    if (key.starts_with(kOnePodKey)) return end(parts_of(key.substr(kOnePodKey.size())));
    waiting_ = false;
    std::vector<Pod> ended;
    for (const auto& pod : pods_.list())
      if (has_ended(*pod)) ended.emplace_back(pod);
    const auto most = context_.options().ended_pods_max;
    if (ended.size() <= most) return {};
    std::sort(ended.begin(), ended.end(), is_collected_first);
    for (std::size_t i = 0; i + most < ended.size(); ++i)
      if (auto removed = remove(ended[i]); !removed) return removed;
    return {};
  }

 private:
  Outcome end(const KeyParts& key) {
    const auto stored = pods_.get(key.namespace_name, key.name);
    if (!stored || !is_ending(*stored) || !is_on_no_node(*stored)) return {};
    if (!has_ended(*stored)) {
      auto patch = schema::Document::object();
      patch.root().object("metadata").put("uid", stored->index.uid.str());
      patch.root().object("status").put("phase", "Failed");
      if (auto failed = settled(context_.client().patch(kPods, key.namespace_name, key.name, kube::PatchType::merge,
                                                        patch.to_json(), "status"));
          !failed)
        return failed;
    }
    return {};
  }

  Outcome remove(const Pod& pod) {
    kube::DeleteOptions options;
    options.uid = pod.uid();
    options.grace_period_seconds = 0;
    return settled(context_.client().remove(kPods, pod.namespace_name(), pod.name(), options),
                   {Reason::not_found, Reason::conflict});
  }

  Context& context_;
  const Lister pods_;
  std::atomic<bool> waiting_{false};  // a sweep is in line
};

}  // namespace

std::unique_ptr<Controller> make_pod_gc_controller(Context& context) {
  return std::make_unique<PodGcController>(context);
}

}  // namespace sublet::controllers
