// Scheduler: gives waiting pods a node, pods of high priority first. Of the nodes that fit it takes the fullest.
//
// It receives node and pod changes on the loop and decides in passes, at most one per turn of the loop. A decision is
// booked at once and written asynchronously (the Binding; for shares of GPUs the group's label before it); if the write
// fails the booking is undone. A pod that fits nowhere gets PodScheduled=False and a FailedScheduling event with the
// message of Kubernetes' scheduler, and is tried again when resources are freed, or a node, claim or queue changes.
// A pod of higher priority preempts others (scheduler_preemption.cpp) without regard to disruption budgets; their
// resources are reserved for it. Preferences (preferred affinity, ScheduleAnyway) have no weight.
// Threads: the loop's. Lifecycle: destroy the pipeline first.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "simhost/event_recorder.h"
#include "simhost/kai.h"
#include "simhost/pod_claims.h"
#include "simhost/pod_rules.h"
#include "simhost/resources.h"
#include "sublet/base/clock.h"
#include "sublet/base/random.h"
#include "sublet/kube/client.h"
#include "sublet/kube/pipeline.h"
#include "sublet/net/loop.h"
#include "sublet/schema/document.h"

namespace sublet::simhost {

inline const kube::Resource kPodResource{"", "v1", "pods"};
inline constexpr std::string_view kDefaultScheduler = "default-scheduler";

class Scheduler : public std::enable_shared_from_this<Scheduler> {
 public:
  Scheduler(net::Loop& loop, const kube::Client& client, kube::Pipeline& pipeline, EventRecorder& events,
            SchedulerInputs inputs, Clock& clock, Random& random);

  void node_changed(const schema::Value& node);
  void node_removed(const std::string& name);
  void pod_changed(const schema::Value& pod);
  void pod_removed(const std::string& uid);
  /// A claim, storage class or queue changed.
  void input_changed() { unpark_all(); }
  /// Starts the passes. Call it when the informers have synced; before, a pod might be judged by half the nodes.
  void begin();

 private:
  struct Node {
    schema::Document object;
    bool present = false;  // false: only booked on, by pods that outlive their Node object
    Resources allocatable, used;
    GpuGroups groups;
    std::int64_t gpu_memory_mib = 0;
    std::set<std::string> pods;  // uids of those booked on it
  };
  struct Booking {
    std::string node;
    Resources requests;
    std::vector<std::string> groups;
    std::int64_t share = 0;  // in each group
    ObjectReference reference{};
    PlacedPod pod{};
  };
  struct Waiting {
    schema::Document pod;
    std::string scheduler;
    std::string signature;  // equal for pods that fit or fail alike
    Resources requests;
    std::optional<GpuShareRequest> share;
    int priority = 0;
    std::uint64_t order = 0;
    std::string reported;     // the reason last written to the pod
    bool parked = false;      // waits for a change in the cluster
    std::string nominated{};  // the node on which it has preempted others
  };
  /// Why a pod was not placed; an empty reason: it was, or it waits for its claims.
  struct Refusal {
    std::string reason{};
    bool preemption_helps = true;
  };
  /// Where a pod would go, and on which devices.
  struct Choice {
    std::string node;
    GpuGroups::Pick devices;
    std::int64_t share = 0;
  };
  /// All nodes with the pods on them, except some.
  using Picture = std::vector<NodeView>;
  using Victims = std::set<std::string>;                                // uids
  using Ready = std::set<std::tuple<int, std::uint64_t, std::string>>;  // minus priority, order, uid

  void note(Booking& booking, const schema::Value& pod);
  void wait(const schema::Value& pod);
  void stop_waiting(const std::string& uid);
  void unpark_all();
  void request_pass();
  void pass();
  Refusal place(const std::string& uid, Waiting& waiting);
  std::string refused_by_queue(const Waiting& waiting) const;
  /// Upstream's message for a pod that no node can take for a reason of its own.
  std::string refused_everywhere(const ClaimVerdict& verdict) const;
  /// Writes the chosen node into the claims, so that volumes are made for it.
  void select_node(const Waiting& waiting, const std::vector<std::string>& claims, const std::string& node);
  Picture picture(const Victims& without = {}) const;
  /// Why the node does not take it if `without` were gone. `rules`: null when other pods do not matter.
  std::vector<std::string> misfits(const Node& node, const Waiting& waiting, const PodRules* rules,
                                   const Victims& without, Choice& choice) const;
  NodeView view_of(const Node& node, const Victims& without) const;
  /// What is reserved on the node for other pods that preempted there.
  Resources reserved(const std::string& node, const Waiting& waiting) const;

  /// Evicts pods of lower priority if that lets the pod fit.
  void preempt(const std::string& uid, Waiting& waiting);
  bool may_preempt(const Waiting& waiting) const;
  /// The fewest pods of lowest priority that must leave the node; nullopt when that does not help.
  std::optional<Victims> victims_on(const std::string& name, const Node& node, const Waiting& waiting) const;
  bool fits_without(const std::string& name, const Node& node, const Waiting& waiting, const Victims& victims) const;
  void nominate(const Waiting& waiting) const;
  void evict(const std::string& victim, const std::string& preemptor, const std::string& node);
  std::int64_t score(const Node& node, const Waiting& waiting) const;
  void book(const std::string& uid, Booking booking);
  void release(const std::string& uid);
  void bind(const std::string& uid, const Waiting& waiting, const Choice& choice);
  void send_binding(const std::string& uid, const ObjectReference& pod, const std::string& node);
  void binding_failed(const std::string& uid, const Status& why);
  void report(const Waiting& waiting, const std::string& message);

  net::Loop& loop_;
  const kube::Client& client_;
  kube::Pipeline& pipeline_;
  EventRecorder& events_;
  const SchedulerInputs inputs_;
  Clock& clock_;
  Random& random_;
  std::unordered_map<std::string, Node> nodes_;
  std::unordered_map<std::string, Booking> bookings_;  // by pod uid
  std::unordered_map<std::string, Waiting> waiting_;   // by pod uid; bound pods leave when their copy shows the node
  Ready ready_;
  Victims nominated_;              // pods in waiting_ that preempted others
  std::map<int, int> priorities_;  // priority of booked pods -> how many; shows whether any can be preempted
  int keepers_away_ = 0;           // booked pods with anti-affinity; with one, every pod is judged by pod rules
  std::uint64_t last_order_ = 0;
  bool begun_ = false, pass_requested_ = false;
};

}  // namespace sublet::simhost
