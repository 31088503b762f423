// metrics.k8s.io: as long as the host measures what pods and nodes use (it has a metrics API), there is a local
// APIService of it, by which the API server serves it (ServerOptions::metrics), and the ClusterRole by which view, edit
// and admin may read it, as metrics-server brings it. An APIService that names a Service is the tenant's own and stays;
// once that is deleted, the local one is back. The controller asks the host every five minutes, since there is no
// watch: 200 idle virtual clusters that asked each minute took half a per cent of a core.

#include <optional>

#include "controllers/runtime/calls.h"
#include "controllers/runtime/kinds.h"
#include "sublet/base/mutex.h"
#include "sublet/controllers/controller.h"
#include "sublet/controllers/controllers.h"
#include "sublet/kube/resource_metrics.h"

namespace sublet::controllers {
namespace {

using schema::Document;

const kube::Resource kClusterRoles{"rbac.authorization.k8s.io", "v1", "clusterroles"};
constexpr std::string_view kName = "v1beta1.metrics.k8s.io";
constexpr const char *kAsk = "ask", *kAnswered = "answered";
constexpr const char* kAutomanaged = "kube-aggregator.kubernetes.io/automanaged";
constexpr std::chrono::seconds kAskAgain{300}, kAskAgainInDoubt{5};

// As metrics-server's manifests have them.
constexpr std::string_view kApiService =
    R"({"apiVersion":"apiregistration.k8s.io/v1","kind":"APIService","metadata":{"name":"v1beta1.metrics.k8s.io",)"
    R"("labels":{"kube-aggregator.kubernetes.io/automanaged":"true"}},"spec":{"group":"metrics.k8s.io",)"
    R"("version":"v1beta1","groupPriorityMinimum":100,"versionPriority":100}})";
constexpr std::string_view kReader =
    R"({"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{)"
    R"("name":"system:aggregated-metrics-reader","labels":{"rbac.authorization.k8s.io/aggregate-to-view":"true",)"
    R"("rbac.authorization.k8s.io/aggregate-to-edit":"true","rbac.authorization.k8s.io/aggregate-to-admin":"true"}},)"
    R"("rules":[{"apiGroups":["metrics.k8s.io"],"resources":["pods","nodes"],"verbs":["get","list","watch"]}]})";

/// What the last answer was, also when the controller is gone.
struct Heard {
  Mutex mutex;
  Context* context SUBLET_GUARDED_BY(mutex) = nullptr;  // null: the controller is gone
  std::shared_ptr<void> asked SUBLET_GUARDED_BY(mutex);
  std::optional<bool> measured SUBLET_GUARDED_BY(mutex);  // nullopt: not known yet

  void answer(std::optional<bool> is_measured) {
    const MutexLock lock(mutex);
    if (!context) return;
    if (is_measured) measured = is_measured;
    if (is_measured) context->enqueue(kAnswered);
    context->enqueue_after(kAsk, is_measured ? kAskAgain : kAskAgainInDoubt);
  }
};

class MetricsApiController final : public Controller {
 public:
  explicit MetricsApiController(Context& context)
      : context_(context),
        api_services_(context.lister(kApiServices)),
        roles_(context.lister(kClusterRoles)),
        heard_(std::make_shared<Heard>()) {
    const MutexLock lock(heard_->mutex);
    heard_->context = &context;
  }
  ~MetricsApiController() override {
    std::shared_ptr<void> dropped;
    const MutexLock lock(heard_->mutex);
    heard_->context = nullptr;
    dropped.swap(heard_->asked);
  }
  MetricsApiController(const MetricsApiController&) = delete;
  MetricsApiController& operator=(const MetricsApiController&) = delete;

  void start() override {
    if (!context_.options().check_metrics) return;
    context_.on_change(kApiServices, [this](const Change& change) {
      if (change.before && name_of(change.object()) == kName) context_.enqueue(kAnswered);
    });
    context_.enqueue(kAsk);
  }

  Outcome reconcile(const std::string& key) override {
    if (key == kAsk) return ask();
    std::optional<bool> measured;
    {
      const MutexLock lock(heard_->mutex);
      measured = heard_->measured;
    }
    if (!measured) return {};
    return *measured ? ensure() : remove();
  }

 private:
  Outcome ask() {
    auto asked = context_.options().check_metrics(
        [heard = heard_](std::optional<bool> is_measured) { heard->answer(is_measured); });
    const MutexLock lock(heard_->mutex);
    heard_->asked.swap(asked);
    return {};
  }

  Outcome ensure() {
    if (!roles_.get("", "system:aggregated-metrics-reader"))
      if (auto made = create(kClusterRoles, kReader); !made) return made;
    return api_services_.get("", kName) ? Outcome() : create(kApiServices, kApiService);
  }

  Outcome create(const kube::Resource& resource, std::string_view json) {
    const auto object = Document::parse_json(json);
    return object ? ensure_created(context_.client(), resource, "", object->root()) : fail(object.error());
  }

  /// The host measures no more: deletes what was created for that, unless it belongs to another by now.
  Outcome remove() {
    const auto stored = api_services_.get("", kName);
    if (!stored) return {};
    const auto object = document_of(*stored);
    if (object["spec"].has("service") || object["metadata"]["labels"][kAutomanaged].text() != "true") return {};
    kube::DeleteOptions exactly;
    exactly.uid = object["metadata"]["uid"].string();
    return settled(context_.client().remove(kApiServices, "", kName, exactly), {Reason::not_found, Reason::conflict});
  }

  Context& context_;
  const Lister api_services_, roles_;
  const std::shared_ptr<Heard> heard_;
};

}  // namespace

std::unique_ptr<Controller> make_metrics_api_controller(Context& context) {
  return std::make_unique<MetricsApiController>(context);
}

}  // namespace sublet::controllers
