// Pods leave nodes with NoExecute taints: at once where they do not tolerate one, else when the shortest toleration has
// run out. How long a pod has been waiting is remembered by the process, as upstream does.
// Source: pkg/controller/tainteviction of Kubernetes.

#include <map>

#include "controllers/pods/pod.h"
#include "controllers/pods/status.h"
#include "controllers/runtime/calls.h"
#include "controllers/runtime/event_recorder.h"
#include "controllers/runtime/kinds.h"
#include "controllers/runtime/object_ref.h"
#include "sublet/controllers/controller.h"
#include "sublet/kube/node_match.h"

namespace sublet::controllers {
namespace {

using schema::Document;
using schema::Value;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::string_view kNodeKey = "node/", kEvictedPodKey = "pod/";

/// Something about the pod changed that counts here.
bool matters(const Change& change) {
  if (!change.before || !change.after) return true;
  for (auto path : {std::initializer_list<std::string_view>{"spec", "nodeName"}, {"metadata", "generation"}})
    if (raw_of(*change.before, path) != raw_of(*change.after, path)) return true;
  return false;
}

struct Patience {
  bool endless = false;
  seconds time{0};
};

/// How long the pod tolerates all of these taints together.
Patience patience_of(const Value& tolerations, const std::vector<kube::Taint>& taints) {
  Patience patience{true, seconds::max()};
  for (const auto& taint : taints) {
    bool covered = false;
    for (auto toleration : tolerations) {
      if (!kube::tolerates(toleration, taint)) continue;
      covered = true;
      if (const auto limit = toleration["tolerationSeconds"]; limit) {
        patience.endless = false;
        patience.time = std::min(patience.time, seconds(std::max<std::int64_t>(0, limit.integer())));
      }
      break;  // the first one counts
    }
    if (!covered) return {false, seconds(0)};
  }
  return patience;
}

class TaintEvictionController final : public Controller {
 public:
  explicit TaintEvictionController(Context& context)
      : context_(context), pods_(context.lister(kPodKind.resource, {By::node})), nodes_(context.lister(kNodes)) {}

  void start() override {
    context_.on_change(kNodes, [this](const Change& change) {
      if (!change.before || !change.after ||
          raw_of(*change.before, {"spec", "taints"}) != raw_of(*change.after, {"spec", "taints"}))
        context_.enqueue(std::string(kNodeKey) + std::string(name_of(change.object())));
    });
    context_.on_change(kPodKind.resource, [this](const Change& change) {
      const auto& pod = change.object();
      if (raw_of(pod, {"spec", "nodeName"}).size() > 2 && matters(change))
        context_.enqueue(std::string(kEvictedPodKey) + key_of(pod));
    });
  }

  Outcome reconcile(const std::string& key) override {
    if (key.starts_with(kEvictedPodKey)) return look_at(key.substr(kEvictedPodKey.size()));
    for (const auto& pod : pods_.on_node(key.substr(kNodeKey.size())))
      context_.enqueue(std::string(kEvictedPodKey) + key_of(*pod));
    return {};
  }

 private:
  struct Wait {
    std::string uid;
    WallTime since;
  };

  Outcome look_at(const std::string& key) {
    const auto parts = parts_of(key);
    const auto stored = pods_.get(parts.namespace_name, parts.name);
    if (const auto wait = waits_.find(key); wait != waits_.end() && (!stored || stored->index.uid != wait->second.uid))
      waits_.erase(wait);
    if (!stored || is_ending(*stored)) return {};
    const Pod pod(stored);
    const auto node = nodes_.get("", pod.node());
    if (!node || raw_of(*node, {"spec", "taints"}).empty()) return stay(pod);
    const auto document = document_of(*node);
    std::vector<kube::Taint> taints;
    for (auto taint : document["spec"]["taints"])
      if (const auto each = kube::taint_of(taint); each.effect == kube::kNoExecute) taints.push_back(each);
    if (taints.empty()) return stay(pod);
    const auto spec = pod.spec();
    const auto patience = patience_of(spec["tolerations"], taints);
    if (patience.endless) return stay(pod);
    const auto now = context_.clock().now();
    const auto due = waits_.try_emplace(key, Wait{pod.uid(), now}).first->second.since + patience.time;
    if (now >= due) return evict(pod);
    context_.enqueue_after(std::string(kEvictedPodKey) + key, std::chrono::ceil<milliseconds>(due - now));
    return {};
  }

  Outcome stay(const Pod& pod) {
    if (waits_.erase(pod.key()) > 0)
      context_.events().normal(ref_of(kPodKind, pod.stored()), "TaintManagerEviction",
                               "Cancelling deletion of Pod " + pod.key());
    return {};
  }

  Outcome evict(const Pod& pod) {
    context_.events().normal(ref_of(kPodKind, pod.stored()), "TaintManagerEviction",
                             "Marking for deletion Pod " + pod.key());
    auto patch = Document::object();
    patch.root().object("metadata").put("uid", pod.uid());
    auto condition = patch.root().object("status").array("conditions").push_object();
    condition.put("type", kDisruptionTarget);
    condition.put("status", "True");
    condition.put("lastTransitionTime", format_time(context_.clock().now()));
    condition.put("reason", "DeletionByTaintManager");
    condition.put("message", "Taint manager: deleting due to NoExecute taint");
    if (const auto generation = pod.metadata()["generation"]) condition.put("observedGeneration", generation);
    if (auto written = settled(context_.client().patch(kPodKind.resource, pod.namespace_name(), pod.name(),
                                                       kube::PatchType::strategic_merge, patch.to_json(), "status"),
                               {Reason::not_found, Reason::conflict});
        !written)
      return written;
    kube::DeleteOptions options;
    options.uid = pod.uid();
    return settled(context_.client().remove(kPodKind.resource, pod.namespace_name(), pod.name(), options),
                   {Reason::not_found, Reason::conflict});
  }

  Context& context_;
  const Lister pods_, nodes_;
  std::map<std::string, Wait> waits_;  // by pod; one worker: no lock
};

}  // namespace

std::unique_ptr<Controller> make_taint_eviction_controller(Context& context) {
  return std::make_unique<TaintEvictionController>(context);
}

}  // namespace sublet::controllers
