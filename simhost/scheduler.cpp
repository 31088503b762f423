#include "simhost/scheduler.h"

#include <algorithm>
#include <map>

#include "simhost/node_filter.h"
#include "sublet/base/log.h"
#include "sublet/schema/engine.h"

namespace sublet::simhost {
namespace {

constexpr std::string_view kNoGpuShare = "node(s) didn't have enough resources: GPUs";
constexpr std::chrono::milliseconds kBindRetry{1000};

bool is_ours(std::string_view scheduler) { return scheduler == kDefaultScheduler || scheduler == kKaiScheduler; }

bool is_finished(const schema::Value& pod) {
  const std::string_view phase = pod["status"]["phase"].text();
  return phase == "Succeeded" || phase == "Failed";
}

ObjectReference reference_to(const schema::Value& pod) {
  const schema::Value metadata = pod["metadata"];
  return {.namespace_name = metadata["namespace"].string(),
          .name = metadata["name"].string(),
          .uid = metadata["uid"].string(),
          .resource_version = metadata["resourceVersion"].string()};
}

const schema::Value scheduled_condition(const schema::Value& pod) {
  for (const schema::Value condition : pod["status"]["conditions"])
    if (condition["type"].text() == "PodScheduled") return condition;
  return {};
}

/// Everything that decides where a pod fits: of pods with the same signature one is judged per pass.
std::string signature_of(const schema::Value& pod) {
  const schema::Value spec = pod["spec"], annotations = pod["metadata"]["annotations"];
  std::string out = spec["schedulerName"].string() + "|" + pod["metadata"]["namespace"].string();
  for (const schema::Value part :
       {spec["nodeSelector"], spec["affinity"]["nodeAffinity"], spec["tolerations"], spec["affinity"]["podAffinity"],
        spec["affinity"]["podAntiAffinity"], spec["topologySpreadConstraints"], pod["metadata"]["labels"],
        spec["overhead"], annotations["gpu-fraction"], annotations["gpu-memory"],
        annotations["gpu-fraction-num-devices"]}) {
    out += '|';
    if (part) part.append_json(out);
  }
  if (has_claims(pod)) out += "|" + pod["metadata"]["uid"].string();
  for (const char* list : {"initContainers", "containers"})
    for (const schema::Value container : spec[list]) {
      out += '|';
      out += container["restartPolicy"].text();
      for (const schema::Value part : {container["resources"], container["ports"]})
        if (part) part.append_json(out);
    }
  return out;
}

/// "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) were unschedulable. preemption: ..." as upstream sorts it.
class FailureReport {
 public:
  void add(const std::vector<std::string>& reasons) {
    bool resources = true;
    for (const std::string& reason : reasons) {
      ++counts_[reason];
      resources =
          resources && (reason.starts_with("Insufficient") || reason == "Too many pods" || reason == kNoGpuShare);
    }
    ++(resources ? no_victims_ : not_helpful_);
  }
  std::string text() const {
    const int nodes = no_victims_ + not_helpful_;
    if (nodes == 0) return "no nodes available to schedule pods";
    const std::string head = "0/" + std::to_string(nodes) + " nodes are available: ";
    std::vector<std::string> parts;
    for (const auto& [reason, count] : counts_) parts.push_back(std::to_string(count) + " " + reason);
    std::ranges::sort(parts);
    std::string out = head;
    for (const std::string& part : parts) out += (&part == &parts.front() ? "" : ", ") + part;
    out += ". preemption: " + head;
    if (no_victims_ > 0) out += std::to_string(no_victims_) + " No preemption victims found for incoming pod";
    if (no_victims_ > 0 && not_helpful_ > 0) out += ", ";
    if (not_helpful_ > 0) out += std::to_string(not_helpful_) + " Preemption is not helpful for scheduling";
    return out + ".";
  }

 private:
  std::map<std::string, int> counts_;
  int no_victims_ = 0, not_helpful_ = 0;
};

}  // namespace

Scheduler::Scheduler(net::Loop& loop, const kube::Client& client, kube::Pipeline& pipeline, EventRecorder& events,
                     SchedulerInputs inputs, Clock& clock, Random& random)
    : loop_(loop),
      client_(client),
      pipeline_(pipeline),
      events_(events),
      inputs_(inputs),
      clock_(clock),
      random_(random) {}

void Scheduler::begin() {
  begun_ = true;
  request_pass();
}

void Scheduler::node_changed(const schema::Value& node) {
  Node& entry = nodes_[node["metadata"]["name"].string()];
  const bool same = entry.present && entry.object["metadata"]["labels"].equals(node["metadata"]["labels"]) &&
                    entry.object["spec"].equals(node["spec"]) &&
                    entry.object["status"]["allocatable"].equals(node["status"]["allocatable"]);
  if (same) return;  // a heartbeat
  entry.object = schema::Document::copy_of(node);
  entry.present = true;
  entry.allocatable = read_resources(node["status"]["allocatable"]);
  // KAI counts a GPU's memory in hundreds of MiB.
  const auto memory = schema::quantity_nanos(node["metadata"]["labels"]["nvidia.com/gpu.memory"].text());
  entry.gpu_memory_mib = memory ? static_cast<std::int64_t>(*memory / 1'000'000'000) / 100 * 100 : 0;
  unpark_all();
}

void Scheduler::node_removed(const std::string& name) {
  const auto found = nodes_.find(name);
  if (found == nodes_.end()) return;
  found->second.present = false;
  unpark_all();  // the messages count nodes
}

void Scheduler::pod_changed(const schema::Value& pod) {
  const std::string uid = pod["metadata"]["uid"].string();
  const std::string node = pod["spec"]["nodeName"].string();
  if (is_finished(pod)) {
    stop_waiting(uid);
    return release(uid);
  }
  if (!node.empty()) {
    stop_waiting(uid);
    const auto booked = bookings_.find(uid);
    if (booked != bookings_.end() && booked->second.node == node) return note(booked->second, pod);
    release(uid);
    Booking booking{node, pod_requests(pod["spec"]), gpu_groups_of(pod["metadata"]["labels"]),
                    0,    reference_to(pod),         placed_pod(pod)};
    if (const auto share = gpu_share_request(pod)) booking.share = share->share_of(nodes_[node].gpu_memory_mib);
    return book(uid, std::move(booking));
  }
  const bool gated = !pod["spec"]["schedulingGates"].empty();
  if (gated || pod["metadata"].has("deletionTimestamp") || !is_ours(pod["spec"]["schedulerName"].text()))
    return stop_waiting(uid);
  wait(pod);
}

/// Takes over the changes of a scheduled pod that matter to others.
void Scheduler::note(Booking& booking, const schema::Value& pod) {
  booking.pod.leaving = pod["metadata"].has("deletionTimestamp");
  if (booking.pod.labels.root().equals(pod["metadata"]["labels"])) return;
  booking.pod.labels = schema::Document::copy_of(pod["metadata"]["labels"]);
  unpark_all();
}

void Scheduler::pod_removed(const std::string& uid) {
  stop_waiting(uid);
  release(uid);
  events_.forget(uid);
}

void Scheduler::wait(const schema::Value& pod) {
  const std::string uid = pod["metadata"]["uid"].string();
  auto [found, fresh] = waiting_.try_emplace(uid);
  Waiting& waiting = found->second;
  std::string signature = signature_of(pod);
  const bool changed = fresh || signature != waiting.signature;
  waiting.pod = schema::Document::copy_of(pod);
  if (!changed) return;
  if (fresh) {
    waiting.order = ++last_order_;
    const schema::Value condition = scheduled_condition(pod);
    if (condition["reason"].text() == "Unschedulable") waiting.reported = condition["message"].string();
  } else if (!waiting.parked) {
    ready_.erase({-waiting.priority, waiting.order, uid});
  }
  waiting.scheduler = pod["spec"]["schedulerName"].string();
  waiting.signature = std::move(signature);
  waiting.requests = pod_requests(pod["spec"]);
  waiting.share = waiting.scheduler == kKaiScheduler ? gpu_share_request(pod) : std::nullopt;
  waiting.priority = static_cast<int>(pod["spec"]["priority"].integer());
  waiting.parked = false;
  if (bookings_.contains(uid)) return;  // a binding is in flight; if it fails, the pod is tried again
  ready_.insert({-waiting.priority, waiting.order, uid});
  request_pass();
}

void Scheduler::stop_waiting(const std::string& uid) {
  const auto found = waiting_.find(uid);
  if (found == waiting_.end()) return;
  ready_.erase({-found->second.priority, found->second.order, uid});
  nominated_.erase(uid);
  waiting_.erase(found);
}

void Scheduler::unpark_all() {
  for (auto& [uid, waiting] : waiting_)
    if (std::exchange(waiting.parked, false)) ready_.insert({-waiting.priority, waiting.order, uid});
  if (!ready_.empty()) request_pass();
}

void Scheduler::request_pass() {
  if (!begun_ || std::exchange(pass_requested_, true)) return;
  loop_.post([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->pass();
  });
}

void Scheduler::pass() {
  pass_requested_ = false;
  std::unordered_map<std::string, Refusal> failed;  // by signature: the next pod with the same one fails too
  const Ready ready = std::exchange(ready_, {});
  for (const auto& [priority, order, uid] : ready) {
    Waiting& waiting = waiting_.at(uid);
    const auto known = failed.find(waiting.signature);
    const Refusal refusal = known != failed.end() ? known->second : place(uid, waiting);
    if (refusal.reason.empty()) continue;
    failed.emplace(waiting.signature, refusal);
    waiting.parked = true;
    if (std::exchange(waiting.reported, refusal.reason) != refusal.reason) report(waiting, refusal.reason);
    if (refusal.preemption_helps) preempt(uid, waiting);
  }
}

std::string Scheduler::refused_by_queue(const Waiting& waiting) const {
  if (waiting.scheduler != kKaiScheduler) return {};
  const schema::Value pod = waiting.pod.root();
  const std::string_view queue = pod["metadata"]["labels"][kQueueLabel].text();
  if (queue.empty()) return "Queue '' does not exist: the pod has no label " + std::string(kQueueLabel);
  if (!inputs_.queues->get("", queue)) return "Queue '" + std::string(queue) + "' does not exist";
  const auto violations = kai_violations(pod);
  return violations.empty() ? std::string() : violations.front();
}

std::string Scheduler::refused_everywhere(const ClaimVerdict& verdict) const {
  const auto nodes = std::ranges::count_if(nodes_, [](const auto& entry) { return entry.second.present; });
  if (nodes == 0) return "no nodes available to schedule pods";
  const std::string count = std::to_string(nodes), head = "0/" + count + " nodes are available: ";
  return head + (verdict.is_devices ? count + " " : "") + verdict.refusal + ". " +
         (verdict.is_devices ? "still not schedulable, " : "") + "preemption: " + head + count +
         " Preemption is not helpful for scheduling.";
}

Scheduler::Refusal Scheduler::place(const std::string& uid, Waiting& waiting) {
  if (std::string reason = refused_by_queue(waiting); !reason.empty()) return {std::move(reason), false};
  const ClaimVerdict claims = judge_claims(waiting.pod.root(), inputs_);
  if (!claims.refusal.empty()) return {refused_everywhere(claims), false};
  FailureReport report;
  std::optional<PodRules> rules;
  if (keepers_away_ > 0 || has_pod_rules(waiting.pod.root())) rules.emplace(waiting.pod.root(), picture());
  std::optional<Choice> best;
  std::int64_t best_score = 0;
  for (const auto& [name, node] : nodes_) {
    if (!node.present) continue;
    Choice choice{name, {}, 0};
    if (const auto reasons = misfits(node, waiting, rules ? &*rules : nullptr, {}, choice); !reasons.empty()) {
      report.add(reasons);
      continue;
    }
    const std::int64_t points = score(node, waiting);
    if (best && (points < best_score || (points == best_score && name > best->node))) continue;
    best = std::move(choice);
    best_score = points;
  }
  if (!best) return {report.text()};
  if (claims.waits) {
    waiting.parked = true;
    select_node(waiting, claims.to_bind, best->node);
  } else {
    bind(uid, waiting, *best);
  }
  return {};
}

void Scheduler::select_node(const Waiting& waiting, const std::vector<std::string>& claims, const std::string& node) {
  schema::Document patch = schema::Document::object();
  patch.root().object("metadata").object("annotations").put("volume.kubernetes.io/selected-node", node);
  const std::string namespace_name = waiting.pod.root()["metadata"]["namespace"].string();
  for (const std::string& claim : claims)
    pipeline_.send(client_.patch_request({"", "v1", "persistentvolumeclaims"}, namespace_name, claim,
                                         kube::PatchType::merge, patch.to_json()),
                   {});
}

NodeView Scheduler::view_of(const Node& node, const Victims& without) const {
  NodeView out{node.object.root(), {}};
  for (const std::string& uid : node.pods)
    if (!without.contains(uid)) out.pods.push_back(&bookings_.at(uid).pod);
  return out;
}

Scheduler::Picture Scheduler::picture(const Victims& without) const {
  Picture out;
  for (const auto& [name, node] : nodes_)
    if (node.present) out.push_back(view_of(node, without));
  return out;
}

std::vector<std::string> Scheduler::misfits(const Node& node, const Waiting& waiting, const PodRules* rules,
                                            const Victims& without, Choice& choice) const {
  if (std::string reason = refused_by_node(waiting.pod.root()["spec"], node.object.root()); !reason.empty())
    return {reason};
  std::vector<std::string> out;
  const Resources kept = reserved(choice.node, waiting);
  Resources freed;
  for (const std::string& uid : without) add(freed, bookings_.at(uid).requests);
  const auto left = [&](std::string_view name) {
    return amount(node.allocatable, name) - amount(node.used, name) - amount(kept, name) + amount(freed, name);
  };
  for (const auto& [name, wanted] : waiting.requests)
    if (wanted > 0 && wanted > left(name))
      out.push_back(name == kPodsResource ? "Too many pods" : "Insufficient " + name);
  if (out.empty() && rules)
    if (std::string reason = rules->refused_by(view_of(node, without)); !reason.empty()) return {reason};
  if (!out.empty() || !waiting.share) return out;
  choice.share = waiting.share->share_of(node.gpu_memory_mib);
  auto devices = node.groups.pick(choice.share, waiting.share->devices, left(kGpuResource) / kUnit);
  if (!devices) return {std::string(kNoGpuShare)};
  choice.devices = std::move(*devices);
  return out;
}

/// Prefers full nodes (bin packing), and shared devices most; keeps GPU nodes for pods that request GPUs.
std::int64_t Scheduler::score(const Node& node, const Waiting& waiting) const {
  constexpr std::int64_t kGpuNodeKept = -1'000'000;
  const bool wants_gpu = waiting.share || std::ranges::any_of(waiting.requests, [](const auto& request) {
                           return request.first.starts_with("nvidia.com/");
                         });
  const bool has_gpu = std::ranges::any_of(
      node.allocatable, [](const auto& have) { return have.first.starts_with("nvidia.com/") && have.second > 0; });
  std::int64_t out = has_gpu && !wants_gpu ? kGpuNodeKept : 0;
  for (const std::string_view name :
       {std::string_view("cpu"), std::string_view("memory"), kPodsResource, kGpuResource}) {
    const std::int64_t all = amount(node.allocatable, name);
    if (all > 0)
      out +=
          static_cast<std::int64_t>(1000.0 * static_cast<double>(amount(node.used, name)) / static_cast<double>(all));
  }
  return out;
}

void Scheduler::book(const std::string& uid, Booking booking) {
  Node& node = nodes_[booking.node];
  add(node.used, booking.requests);
  for (const std::string& group : booking.groups)
    if (node.groups.join(group, booking.share)) node.used[std::string(kGpuResource)] += kUnit;
  node.pods.insert(uid);
  ++priorities_[booking.pod.priority];
  keepers_away_ += !booking.pod.anti_affinity.empty();
  bookings_[uid] = std::move(booking);
}

void Scheduler::release(const std::string& uid) {
  const auto found = bookings_.find(uid);
  if (found == bookings_.end()) return;
  const Booking booking = std::move(found->second);
  bookings_.erase(found);
  Node& node = nodes_[booking.node];
  node.pods.erase(uid);
  if (const auto count = priorities_.find(booking.pod.priority); --count->second == 0) priorities_.erase(count);
  keepers_away_ -= !booking.pod.anti_affinity.empty();
  add(node.used, booking.requests, -1);
  for (const std::string& group : booking.groups)
    if (node.groups.leave(group, booking.share)) node.used[std::string(kGpuResource)] -= kUnit;
  unpark_all();
}

void Scheduler::bind(const std::string& uid, const Waiting& waiting, const Choice& choice) {
  const ObjectReference pod = reference_to(waiting.pod.root());
  Booking booking{
      choice.node, waiting.requests, choice.devices.existing, choice.share, pod, placed_pod(waiting.pod.root())};
  for (int i = 0; i < choice.devices.fresh; ++i) booking.groups.push_back(uuid_v4(random_));
  const std::vector<std::string> groups = booking.groups;
  book(uid, std::move(booking));
  if (groups.empty()) return send_binding(uid, pod, choice.node);

  // As KAI's binder: the group's label first, so that a bound pod always names the device that it shares.
  schema::Document patch = schema::Document::object();
  schema::Value metadata = patch.root().object("metadata");
  metadata.put("uid", uid);
  for (const std::string& group : groups)
    metadata.object("labels").put(
        groups.size() == 1 ? std::string(kGpuGroupLabel) : std::string(kGpuGroupLabel) + "/" + group, group);
  metadata.object("annotations").put(kReceivedTypeAnnotation, "Fraction");
  pipeline_.send(
      client_.patch_request(kPodResource, pod.namespace_name, pod.name, kube::PatchType::merge, patch.to_json()),
      [self = shared_from_this(), uid, pod, node = choice.node](const Result<std::string>& answer) {
        if (!answer) return self->binding_failed(uid, answer.error());
        self->send_binding(uid, pod, node);
      });
}

void Scheduler::send_binding(const std::string& uid, const ObjectReference& pod, const std::string& node) {
  schema::Document binding = schema::Document::object();
  schema::Value root = binding.root();
  root.put("kind", "Binding");
  root.put("apiVersion", "v1");
  schema::Value metadata = root.object("metadata");
  metadata.put("name", pod.name);
  metadata.put("namespace", pod.namespace_name);
  metadata.put("uid", uid);
  schema::Value target = root.object("target");
  target.put("kind", "Node");
  target.put("apiVersion", "v1");
  target.put("name", node);
  const std::string component(waiting_.contains(uid) ? std::string_view(waiting_.at(uid).scheduler)
                                                     : kDefaultScheduler);
  pipeline_.send(client_.create_request(kPodResource, pod.namespace_name, root, pod.name, "binding"),
                 // The kubelet may see the pod before this answer comes; the event is still the earlier one.
                 [self = shared_from_this(), uid, pod, node, component,
                  moment = events_.next_moment()](const Result<std::string>& answer) {
                   if (!answer) return self->binding_failed(uid, answer.error());
                   self->events_.record(pod, {component}, EventRecorder::Type::normal, "Scheduled",
                                        "Successfully assigned " + pod.namespace_name + "/" + pod.name + " to " + node,
                                        moment);
                 });
}

void Scheduler::binding_failed(const std::string& uid, const Status& why) {
  release(uid);
  if (why.is(Reason::not_found) || why.is(Reason::conflict)) return;  // gone, or bound already: an event will come
  log::warning("simhost.binding_failed", {{"pod_uid", uid}, {"error", why.message}});
  loop_.after(kBindRetry, [weak = weak_from_this(), uid] {
    const auto self = weak.lock();
    if (!self) return;
    const auto found = self->waiting_.find(uid);
    if (found == self->waiting_.end() || self->bookings_.contains(uid)) return;
    self->ready_.insert({-found->second.priority, found->second.order, uid});
    self->request_pass();
  });
}

void Scheduler::report(const Waiting& waiting, const std::string& message) {
  const ObjectReference pod = reference_to(waiting.pod.root());
  schema::Document patch = schema::Document::object();
  patch.root().object("metadata").put("uid", pod.uid);
  schema::Value condition = patch.root().object("status").array("conditions").push_object();
  condition.put("type", "PodScheduled");
  condition.put("status", "False");
  condition.put("lastProbeTime", schema::Value());
  condition.put("lastTransitionTime", format_time(clock_.now()));
  condition.put("reason", "Unschedulable");
  condition.put("message", message);
  if (const schema::Value generation = waiting.pod.root()["metadata"]["generation"])
    condition.put("observedGeneration", generation.integer());
  pipeline_.send(client_.patch_request(kPodResource, pod.namespace_name, pod.name, kube::PatchType::strategic_merge,
                                       patch.to_json(), "status"),
                 {});
  events_.record(pod, {waiting.scheduler}, EventRecorder::Type::warning,
                 waiting.scheduler == kKaiScheduler ? "Unschedulable" : "FailedScheduling", message);
}

}  // namespace sublet::simhost
