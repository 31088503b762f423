// APIServices: every one says whether the API server behind it can be had (condition Available), by what
// Server::check_api_service() finds out: when it, its Service or the Service's endpoints change, and from time to time
// while it names a Service. Without such an APIService there is no timer.
// Source: kube-aggregator pkg/controllers/status/{local,remote}.

#include <map>
#include <optional>
#include <utility>

#include "controllers/pods/status.h"
#include "controllers/runtime/kinds.h"
#include "sublet/base/mutex.h"
#include "sublet/controllers/controller.h"
#include "sublet/controllers/controllers.h"

namespace sublet::controllers {
namespace {

using apiserver::ApiAvailability;
using schema::Document;
using schema::Value;

constexpr std::chrono::seconds kLookAgain{30}, kLookAgainWhenGone{5};

/// A look that is under way, or what came of it.
struct Look {
  std::shared_ptr<void> asked{};
  std::optional<ApiAvailability> verdict{};
  bool again = false;  // something changed meanwhile
};

/// What the answers of looks come to, also when the controller is gone.
struct Looks {
  Mutex mutex;
  Context* context SUBLET_GUARDED_BY(mutex) = nullptr;  // null: the controller is gone
  std::map<std::string, Look> by_name SUBLET_GUARDED_BY(mutex);

  void answer(const std::string& name, ApiAvailability verdict) {
    const MutexLock lock(mutex);
    const auto found = by_name.find(name);
    if (!context || found == by_name.end()) return;
    found->second.verdict = std::move(verdict);
    context->enqueue(name);
  }
};

class ApiServiceController final : public Controller {
 public:
  explicit ApiServiceController(Context& context)
      : context_(context), api_services_(context.lister(kApiServices)), looks_(std::make_shared<Looks>()) {
    const MutexLock lock(looks_->mutex);
    looks_->context = &context;
  }
  ~ApiServiceController() override {
    std::map<std::string, Look> dropped;
    const MutexLock lock(looks_->mutex);
    looks_->context = nullptr;
    dropped.swap(looks_->by_name);
  }
  ApiServiceController(const ApiServiceController&) = delete;
  ApiServiceController& operator=(const ApiServiceController&) = delete;

  void start() override {
    context_.on_change(kApiServices, [this](const Change& change) {
      note_service(change);
      if (!change.after || !change.before || is_new(change)) context_.enqueue(std::string(name_of(change.object())));
    });
    context_.on_change(kServices,
                       [this](const Change& change) { wake(namespace_of(change.object()), name_of(change.object())); });
    context_.on_change(kEndpointSlices, [this](const Change& change) {
      if (by_service_.empty()) return;
      for (const auto& [label, value] : change.object().index.labels.all())
        if (label == "kubernetes.io/service-name") wake(namespace_of(change.object()), value);
    });
  }

  Outcome reconcile(const std::string& name) override {
    if (!context_.options().check_api_service) return {};
    const auto stored = api_services_.get("", name);
    auto look = take_look(name);
    if (!stored) return {};
    if (!look) return begin_look(name);
    if (!look->verdict) return {};  // it is under way
    if (look->again) context_.enqueue(name);
    const auto object = document_of(*stored);
    if (object["spec"].has("service"))
      context_.enqueue_after(name, look->verdict->available ? kLookAgain : kLookAgainWhenGone);
    return write_availability(object, *look->verdict);
  }

 private:
  // Its own status is no news.
  static bool is_new(const Change& change) {
    return !document_of(*change.before)["spec"].equals(document_of(*change.after)["spec"]);
  }

  static std::string service_of(const store::Object& object) {
    const auto document = document_of(object);
    const Value named = document["spec"]["service"];
    return named.has("name") ? named["namespace"].string() + "/" + named["name"].string() : "";
  }
  void note_service(const Change& change) {
    const std::string name(name_of(change.object()));
    if (change.before) std::erase_if(by_service_, [&](const auto& entry) { return entry.second == name; });
    if (!change.after) return;
    if (auto service = service_of(*change.after); !service.empty()) by_service_.emplace(std::move(service), name);
  }
  void wake(std::string_view namespace_name, std::string_view service) {
    if (by_service_.empty()) return;
    const auto named = by_service_.equal_range(std::string(namespace_name) + "/" + std::string(service));
    for (auto entry = named.first; entry != named.second; ++entry) context_.enqueue(entry->second);
  }

  /// Missing: there is none. One without a verdict stays where it is, and there is to be another after it.
  std::optional<Look> take_look(const std::string& name) {
    const MutexLock lock(looks_->mutex);
    const auto found = looks_->by_name.find(name);
    if (found == looks_->by_name.end()) return std::nullopt;
    if (!found->second.verdict) {
      found->second.again = true;
      return Look();
    }
    auto look = std::move(found->second);
    looks_->by_name.erase(found);
    return look;
  }

  Outcome begin_look(const std::string& name) {
    {
      const MutexLock lock(looks_->mutex);
      looks_->by_name[name];
    }
    auto asked = context_.options().check_api_service(
        name, [looks = looks_, name](ApiAvailability verdict) { looks->answer(name, std::move(verdict)); });
    const MutexLock lock(looks_->mutex);
    if (const auto found = looks_->by_name.find(name); found != looks_->by_name.end())
      found->second.asked = std::move(asked);
    return {};
  }

  Outcome write_availability(const Document& stored, const ApiAvailability& verdict) {
    auto object = stored.clone();
    const Condition condition{"Available", verdict.available ? "True" : "False", verdict.reason, verdict.message};
    if (!put_condition(object.root().object("status"), condition, context_.clock().now())) return {};
    const auto written = put_status(context_.client(), kApiServices, object.root());
    return written ? Outcome() : fail(written.error());
  }

  Context& context_;
  const Lister api_services_;
  const std::shared_ptr<Looks> looks_;
  std::multimap<std::string, std::string> by_service_;  // "namespace/name" -> APIServices; of the changes' thread
};

}  // namespace

std::unique_ptr<Controller> make_api_service_controller(Context& context) {
  return std::make_unique<ApiServiceController>(context);
}

}  // namespace sublet::controllers
