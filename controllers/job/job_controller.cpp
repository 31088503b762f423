// Jobs: creates pods until enough of them have succeeded or too many failed. What a pass over one Job does is in
// job_pass.h; here is when it is due. Keys: "namespace/name" of a Job, and "pod/namespace/name" of a pod that still has
// the finalizer of a Job which will not take it off any more.

#include "controllers/job/job_pass.h"
#include "controllers/runtime/event_recorder.h"
#include "controllers/runtime/kinds.h"

namespace sublet::controllers {
namespace {

constexpr std::string_view kOrphanedPodKey = "pod/";
// What happens to many pods of a Job at once is looked at together.
constexpr std::chrono::milliseconds kJobBatchPeriod{50};

bool names_finalizer(const store::Object& pod) {
  return raw_of(pod, {"metadata", "finalizers"}).find(kJobFinalizer) != std::string_view::npos;
}

class JobController final : public Controller {
 public:
  explicit JobController(Context& context)
      : context_(context),
        jobs_(context.lister(kJobs, {By::label_selector})),
        pods_(context.lister(kPods, {By::owner, By::orphan})) {}

  int workers() const override { return 5; }

  void start() override {
    context_.on_change(kJobs, [this](const Change& change) {
      context_.enqueue(key_of(change.object()));
      if (change.before && (!change.after || is_over(*change.after)))
        for (const auto& pod : pods_.owned_by(change.object().index.uid.str())) enqueue_orphan(*pod);
    });
    context_.on_change(kPods, [this](const Change& change) {
      if (change.before && change.after && !is_controlled_alike(change)) enqueue_job_of(*change.before);
      enqueue_job_of(change.object());
    });
  }

  Outcome reconcile(const std::string& key) override {
    if (key.starts_with(kOrphanedPodKey)) return release_orphan(parts_of(key.substr(kOrphanedPodKey.size())));
    const auto [namespace_name, name] = parts_of(key);
    const auto stored = jobs_.get(namespace_name, name);
    const auto job = stored ? document_of(*stored) : schema::Document();
    const JobSpec spec(job.root());
    if (stored && spec.managed_elsewhere) return {};
    if (!stored || !finished_as(job.root()).empty()) {
      backoffs_.forget(key);
      return {};
    }
    if (!spec.known_mode) {
      context_.events().warning(ref_of(kJobKind, *stored), "UnknownCompletionMode",
                                "Skipped Job sync because completion mode is unknown");
      return {};
    }
    return JobPass({context_, jobs_, pods_, backoffs_}, *stored).run();
  }

 private:
  static bool is_over(const store::Object& job) { return !finished_as(document_of(job).root()).empty(); }

  static bool is_controlled_alike(const Change& change) {
    return raw_of(*change.before, {"metadata", "ownerReferences"}) ==
           raw_of(*change.after, {"metadata", "ownerReferences"});
  }

  /// The Job that controls the pod, if it is there.
  store::ObjectPtr job_of(const store::Object& pod, const OwnerRef& controller) const {
    if (controller.kind != kJobKind.kind || controller.api_version != kJobKind.api_version) return nullptr;
    auto job = jobs_.get(namespace_of(pod), controller.name);
    return job && job->index.uid == controller.uid ? job : nullptr;
  }

  void enqueue_job_of(const store::Object& pod) const {
    if (const auto controller = controller_of(pod)) {
      if (controller->kind != kJobKind.kind) return;
      const auto job = job_of(pod, *controller);
      if (job) context_.enqueue_after(key_of(*job), kJobBatchPeriod);
      if (!job || is_ending(pod)) enqueue_orphan(pod);
      return;
    }
    enqueue_orphan(pod);
    for (const auto& job : jobs_.selecting(namespace_of(pod), pod.index)) context_.enqueue(key_of(*job));
  }

  void enqueue_orphan(const store::Object& pod) const {
    if (names_finalizer(pod)) context_.enqueue(std::string(kOrphanedPodKey) + key_of(pod));
  }

  Outcome release_orphan(const KeyParts& key) {
    auto stored = pods_.get(key.namespace_name, key.name);
    if (!stored) return {};
    if (const auto controller = controller_of(*stored)) {
      if (controller->kind != kJobKind.kind || controller->api_version != kJobKind.api_version) return {};
      if (const auto job = job_of(*stored, *controller)) {
        const auto document = document_of(*job);
        if (JobSpec(document.root()).managed_elsewhere || finished_as(document.root()).empty()) return {};
      }
    }
    return release_job_pods(context_.client(), {Pod(std::move(stored))}, nullptr);
  }

  Context& context_;
  const Lister jobs_, pods_;
  JobBackoffs backoffs_;
};

}  // namespace

std::unique_ptr<Controller> make_job_controller(Context& context) { return std::make_unique<JobController>(context); }

}  // namespace sublet::controllers
