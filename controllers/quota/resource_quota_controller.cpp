// ResourceQuotas: writes into their status how much is used. Admission charges what it admits (in the Txn of
// the write, apiserver/admission/resource_quota.cpp); this recounts after a deletion, an end or a change of a quota.

#include <atomic>

#include "controllers/runtime/calls.h"
#include "controllers/runtime/object_ref.h"
#include "sublet/controllers/controller.h"
#include "sublet/controllers/controllers.h"
#include "sublet/quota/measure.h"
#include "sublet/schema/engine.h"

namespace sublet::controllers {
namespace {

using quota::Measure;
using schema::Document;
using schema::Value;

const kube::Resource kQuotas{"", "v1", "resourcequotas"};
// What happens to many objects of a namespace at once is counted together.
constexpr std::chrono::milliseconds kQuotaBatchPeriod{50};
// And changes in all namespaces: each recounts their objects.
constexpr std::chrono::milliseconds kAllQuotasBatchPeriod{500};
constexpr std::string_view kPlatformNamespace = "kube-system";

bool is_used_otherwise(const Change& change) {
  if (!change.before || !change.after) return true;
  return raw_of(*change.before, {"spec"}) != raw_of(*change.after, {"spec"}) ||
         raw_of(*change.before, {"status", "phase"}) != raw_of(*change.after, {"status", "phase"});
}

class ResourceQuotaController final : public Controller {
 public:
  explicit ResourceQuotaController(Context& context)
      : context_(context),
        quotas_(context.lister(kQuotas)),
        weighed_{{Measure("", "pods"), context.lister({"", "v1", "pods"})},
                 {Measure("", "services"), context.lister({"", "v1", "services"})},
                 {Measure("", "persistentvolumeclaims"), context.lister({"", "v1", "persistentvolumeclaims"})},
                 {Measure("resource.k8s.io", "resourceclaims"),
                  context.lister({"resource.k8s.io", "v1", "resourceclaims"})}} {}

  void start() override {
    context_.on_change(kQuotas, [this](const Change& change) {
      if (!change.before) ++quotas_there_;
      if (!change.after) --quotas_there_;
      if (change.after) context_.enqueue(key_of(*change.after));
    });
    // Any kind may be one that a quota counts. One that is not known yet counts everything when it is.
    context_.on_any_change([this](const Change& change) {
      if (quotas_there_ == 0) return;
      const auto namespace_name = namespace_of(change.object());
      if (namespace_name.empty() || !is_used_otherwise(change)) return;
      // What comes was charged when it was let in.
      if (namespace_name != kPlatformNamespace && change.before) enqueue_platform_quotas();
      if (quotas_.count(namespace_name) == 0) return;
      for (const auto& quota : quotas_.list(namespace_name)) context_.enqueue_after(key_of(*quota), kQuotaBatchPeriod);
    });
  }

  Outcome reconcile(const std::string& key) override {
    const auto [namespace_name, name] = parts_of(key);
    const auto stored = quotas_.get(namespace_name, name);
    if (!stored) return {};
    auto quota = document_of(*stored);
    const auto used = usage_of(quota.root(), is_platforms(quota.root(), namespace_name) ? "" : namespace_name);
    auto wanted = Document::object();
    wanted.root().object("hard");
    if (const auto hard = quota["spec"]["hard"]) wanted.root().put("hard", hard);
    auto list = wanted.root().object("used");
    for (Value limit : quota["spec"]["hard"])
      if (const auto found = used.find(limit.key()); found != used.end())
        list.put(limit.key(), schema::quantity_from_nanos(found->second.nanos, limit.text()));
    const auto before = quota["status"];
    if (before["hard"].equals(wanted["hard"]) && before["used"].equals(wanted["used"])) return {};
    quota.root().put("status", wanted.root());
    return settled(context_.client().update(kQuotas, namespace_name, name, quota.root(), "status"));
  }

 private:
  // The platform's quota is about the whole virtual cluster (admission: each_platform_limit()).
  bool is_platforms(const Value& quota, std::string_view namespace_name) const {
    const std::string& label = context_.options().platform_quotas;
    return !label.empty() && namespace_name == kPlatformNamespace && quota["metadata"]["labels"].has(label);
  }

  void enqueue_platform_quotas() {
    if (context_.options().platform_quotas.empty()) return;
    for (const auto& quota : quotas_.list(kPlatformNamespace))
      if (is_platforms(document_of(*quota).root(), kPlatformNamespace))
        context_.enqueue_after(key_of(*quota), kAllQuotasBatchPeriod);
  }

  /// In one namespace, or in all (""). Of each name that the quota limits and that is known. The quota was read before,
  /// and its status is written only if it has not changed since: what admission lets in meanwhile changes it, so
  /// nothing is missed here.
  quota::Amounts usage_of(const Value& quota, const std::string& namespace_name) const {
    quota::Amounts used;
    for (const auto& [measure, lister] : weighed_) add_weighed(used, measure, lister, quota, namespace_name);
    for (const Value limit : quota["spec"]["hard"]) {
      const auto resource = quota::counted_resource(limit.key());
      if (resource.empty() || resource == "events" || resource == "events.events.k8s.io" || used.contains(limit.key()))
        continue;
      const auto count = quota::has_scopes(quota["spec"]) ? 0 : count_of(resource, namespace_name);
      used.emplace(limit.key(), quota::number(count));
    }
    return used;
  }

  void add_weighed(quota::Amounts& used, const Measure& measure, const Lister& lister, const Value& quota,
                   const std::string& namespace_name) const {
    bool covers = false;
    for (const Value limit : quota["spec"]["hard"])
      if (measure.covers(limit.key())) covers = used.try_emplace(std::string(limit.key())).second || covers;
    if (!covers) return;
    for (const auto& stored : lister.list(namespace_name)) {
      const auto object = document_of(*stored);
      if (!measure.is_in_scopes(quota["spec"], object.root())) continue;
      for (const auto& [name, amount] : measure.usage(object.root(), context_.clock().now()))
        if (const auto found = used.find(name); found != used.end()) quota::add(found->second, amount);
    }
  }

  std::int64_t count_of(const std::string& resource, const std::string& namespace_name) const {
    const std::string prefix = resource + "/" + (namespace_name.empty() ? "" : namespace_name + "/");
    return static_cast<std::int64_t>(context_.snapshot().count(prefix));
  }

  Context& context_;
  const Lister quotas_;
  const std::vector<std::pair<Measure, Lister>> weighed_;  // of which more than their number counts
  std::atomic<std::size_t> quotas_there_{0};
};

}  // namespace

std::unique_ptr<Controller> make_resource_quota_controller(Context& context) {
  return std::make_unique<ResourceQuotaController>(context);
}

}  // namespace sublet::controllers
