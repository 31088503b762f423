// Deletes finished Jobs after their ttlSecondsAfterFinished, with what they
// own.

#include "controllers/job/job_facts.h"
#include "controllers/runtime/calls.h"
#include "controllers/runtime/kinds.h"
#include "controllers/runtime/object_ref.h"
#include "sublet/controllers/controller.h"

namespace sublet::controllers {
namespace {

using std::chrono::milliseconds;

class TtlAfterFinishedController final : public Controller {
 public:
  explicit TtlAfterFinishedController(Context& context) : context_(context), jobs_(context.lister(kJobs)) {}

  void start() override {
    context_.on_change(kJobs, [this](const Change& change) {
      if (change.after && !raw_of(*change.after, {"spec", "ttlSecondsAfterFinished"}).empty())
        context_.enqueue(key_of(*change.after));
    });
  }

  Outcome reconcile(const std::string& key) override {
    const auto [namespace_name, name] = parts_of(key);
    const auto stored = jobs_.get(namespace_name, name);
    if (!stored || is_ending(*stored)) return {};
    const auto job = document_of(*stored);
    const auto ttl = job["spec"]["ttlSecondsAfterFinished"];
    const auto end = true_condition(job.root(), finished_as(job.root()));
    if (!ttl || !end) return {};
    const auto finished = parse_time(end["lastTransitionTime"].text());
    if (!finished) return fail(Reason::internal_error, "unable to find the time when the Job " + key + " finished");
    const auto left = *finished + std::chrono::seconds(ttl.integer()) - context_.clock().now();
    if (left > milliseconds(0)) {
      context_.enqueue_after(key, std::chrono::ceil<milliseconds>(left));
      return {};
    }
    kube::DeleteOptions options;
    options.uid = stored->index.uid;
    options.propagation_policy = "Foreground";
    return settled(context_.client().remove(kJobs, namespace_name, name, options));
  }

 private:
  Context& context_;
  const Lister jobs_;
};

}  // namespace

std::unique_ptr<Controller> make_ttl_after_finished_controller(Context& context) {
  return std::make_unique<TtlAfterFinishedController>(context);
}

}  // namespace sublet::controllers
