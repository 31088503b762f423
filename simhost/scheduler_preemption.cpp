// Preemption: a pod that fits nowhere takes the place of pods of lower priority.
//
// Victims are chosen as upstream does, without disruption budgets: on each node all pods of lower priority are removed
// from the picture, then as many as possible are put back, high priority first. The node with the fewest victims of the
// lowest priority wins.
#include <algorithm>
#include <limits>

#include "simhost/node_filter.h"
#include "simhost/scheduler.h"

namespace sublet::simhost {

Resources Scheduler::reserved(const std::string& node, const Waiting& waiting) const {
  Resources out;
  for (const std::string& uid : nominated_) {
    const Waiting& other = waiting_.at(uid);
    if (&other != &waiting && other.nominated == node && other.priority >= waiting.priority && !bookings_.contains(uid))
      add(out, other.requests);
  }
  return out;
}

bool Scheduler::may_preempt(const Waiting& waiting) const {
  if (waiting.scheduler != kDefaultScheduler || priorities_.empty() || priorities_.begin()->first >= waiting.priority)
    return false;
  if (waiting.pod.root()["spec"]["preemptionPolicy"].text() == "Never") return false;
  // A pod that has preempted others waits until they are gone.
  const auto nominated = nodes_.find(waiting.nominated);
  return nominated == nodes_.end() || std::ranges::none_of(nominated->second.pods, [&](const std::string& uid) {
           const PlacedPod& pod = bookings_.at(uid).pod;
           return pod.leaving && pod.priority < waiting.priority;
         });
}

bool Scheduler::fits_without(const std::string& name, const Node& node, const Waiting& waiting,
                             const Victims& victims) const {
  const PodRules rules(waiting.pod.root(), picture(victims));
  Choice choice{name, {}, 0};
  return misfits(node, waiting, &rules, victims, choice).empty();
}

std::optional<Scheduler::Victims> Scheduler::victims_on(const std::string& name, const Node& node,
                                                        const Waiting& waiting) const {
  if (!refused_by_node(waiting.pod.root()["spec"], node.object.root()).empty()) return std::nullopt;
  std::vector<std::string> candidates;
  for (const std::string& uid : node.pods)
    if (bookings_.at(uid).pod.priority < waiting.priority) candidates.push_back(uid);
  Victims victims(candidates.begin(), candidates.end());
  if (candidates.empty() || !fits_without(name, node, waiting, victims)) return std::nullopt;
  std::ranges::stable_sort(candidates, std::ranges::greater(),
                           [&](const std::string& uid) { return bookings_.at(uid).pod.priority; });
  for (const std::string& uid : candidates) {
    victims.erase(uid);
    if (!fits_without(name, node, waiting, victims)) victims.insert(uid);
  }
  return victims;
}

void Scheduler::preempt(const std::string& uid, Waiting& waiting) {
  if (!may_preempt(waiting)) return;
  std::optional<Victims> best;
  std::tuple<int, std::size_t, std::string> best_rank;
  for (const auto& [name, node] : nodes_) {
    if (!node.present) continue;
    auto victims = victims_on(name, node, waiting);
    if (!victims) continue;
    int highest = std::numeric_limits<int>::min();
    for (const std::string& victim : *victims) highest = std::max(highest, bookings_.at(victim).pod.priority);
    std::tuple rank(highest, victims->size(), name);
    if (best && best_rank < rank) continue;
    best = std::move(victims);
    best_rank = std::move(rank);
  }
  if (!best) return;
  waiting.nominated = std::get<2>(best_rank);
  nominated_.insert(uid);
  nominate(waiting);
  for (const std::string& victim : *best) evict(victim, uid, waiting.nominated);
}

void Scheduler::nominate(const Waiting& waiting) const {
  const schema::Value metadata = waiting.pod.root()["metadata"];
  schema::Document patch = schema::Document::object();
  patch.root().object("metadata").put("uid", metadata["uid"].string());
  patch.root().object("status").put("nominatedNodeName", waiting.nominated);
  pipeline_.send(client_.patch_request(kPodResource, metadata["namespace"].string(), metadata["name"].string(),
                                       kube::PatchType::merge, patch.to_json(), "status"),
                 {});
}

/// The condition is written before the deletion: the pod's owner (a Job's failure policy) reads it.
void Scheduler::evict(const std::string& victim, const std::string& preemptor, const std::string& node) {
  Booking& booking = bookings_.at(victim);
  if (std::exchange(booking.pod.leaving, true)) return;
  const ObjectReference& pod = booking.reference;
  schema::Document patch = schema::Document::object();
  patch.root().object("metadata").put("uid", victim);
  schema::Value condition = patch.root().object("status").array("conditions").push_object();
  condition.put("type", "DisruptionTarget");
  condition.put("status", "True");
  condition.put("lastTransitionTime", format_time(clock_.now()));
  condition.put("reason", "PreemptionByScheduler");
  condition.put("message", "default-scheduler: preempting to accommodate a higher priority pod");
  pipeline_.send(client_.patch_request(kPodResource, pod.namespace_name, pod.name, kube::PatchType::strategic_merge,
                                       patch.to_json(), "status"),
                 [self = shared_from_this(), pod, victim](const Result<std::string>&) {
                   self->pipeline_.send(self->client_.remove_request(kPodResource, pod.namespace_name, pod.name,
                                                                     kube::DeleteOptions{.uid = victim}),
                                        {});
                 });
  events_.record(pod, {std::string(kDefaultScheduler)}, EventRecorder::Type::normal, "Preempted",
                 "Preempted by pod " + preemptor + " on node " + node);
}

}  // namespace sublet::simhost
