// ResourceQuotas: their status says what is used of what they limit. Nothing is refused yet: that would be admission's.

#include "controllers/pods/object_ref.h"
#include "controllers/quota/quota_usage.h"
#include "controllers/runtime/calls.h"
#include "sublet/controllers/controller.h"
#include "sublet/controllers/controllers.h"
#include "sublet/schema/engine.h"

namespace sublet::controllers {
namespace {

using schema::Document;
using schema::Value;

const kube::Resource kQuotas{"", "v1", "resourcequotas"}, kPods{"", "v1", "pods"}, kServices{"", "v1", "services"},
    kClaims{"", "v1", "persistentvolumeclaims"};
// What happens to many objects of a namespace at once is counted together.
constexpr std::chrono::milliseconds kTogether{50};
constexpr __int128 kOne = 1'000'000'000;

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
        pods_(context.lister(kPods)),
        services_(context.lister(kServices)),
        claims_(context.lister(kClaims)) {}

  void start() override {
    context_.on_change(kQuotas, [this](const Change& change) {
      if (change.after) context_.enqueue(key_of(*change.after));
    });
    // Any kind may be one that a quota counts.
    context_.on_any_change([this](const Change& change) {
      const auto namespace_name = namespace_of(change.object());
      if (namespace_name.empty() || !is_used_otherwise(change) || quotas_.count(namespace_name) == 0) return;
      for (const auto& quota : quotas_.list(namespace_name)) context_.enqueue_after(key_of(*quota), kTogether);
    });
  }

  Outcome reconcile(const std::string& key) override {
    const auto [namespace_name, name] = parts_of(key);
    const auto stored = quotas_.get(namespace_name, name);
    if (!stored) return {};
    auto quota = document_of(*stored);
    const auto used = usage_of(quota.root(), namespace_name);
    auto wanted = Document::object();
    wanted.root().object("hard");
    if (const auto hard = quota["spec"]["hard"]) wanted.root().put("hard", hard);
    auto list = wanted.root().object("used");
    for (Value limit : quota["spec"]["hard"])
      if (const auto found = used.find(std::string(limit.key())); found != used.end())
        list.put(limit.key(), schema::quantity_from_nanos(found->second, limit.text()));
    const auto said = quota["status"];
    if (said["hard"].equals(wanted["hard"]) && said["used"].equals(wanted["used"])) return {};
    quota.root().put("status", wanted.root());
    return settled(context_.client().update(kQuotas, namespace_name, name, quota.root(), "status"));
  }

 private:
  /// Of each name that the quota limits and that is known.
  Usage usage_of(const Value& quota, const std::string& namespace_name) const {
    Usage used;
    bool asks[4] = {};
    for (Value limit : quota["spec"]["hard"]) {
      const auto name = limit.key();
      if (auto kind = counted_kind(name); !kind.empty()) {
        if (has_scopes(quota["spec"]) && kind != "pods") continue;
        used[std::string(name)] = count(kind, quota, namespace_name);
      } else if (const auto measured = measured_on(name); measured != Measured::nowhere) {
        used[std::string(name)] = 0;
        asks[static_cast<int>(measured)] = true;
      }
    }
    const auto measure = [&](Measured on, const Lister& lister, auto usage) {
      if (!asks[static_cast<int>(on)]) return;
      for (const auto& object : lister.list(namespace_name))
        for (const auto& [name, nanos] : usage(document_of(*object).root()))
          if (const auto found = used.find(name); found != used.end()) found->second += nanos;
    };
    measure(Measured::pods, pods_, [&](const Value& pod) {
      return is_in_scopes(quota["spec"], pod) ? pod_usage(pod, context_.clock().now()) : Usage();
    });
    const auto unscoped = [&](auto usage) {
      return [&quota, usage](const Value& object) { return has_scopes(quota["spec"]) ? Usage() : usage(object); };
    };
    measure(Measured::services, services_, unscoped(service_usage));
    measure(Measured::claims, claims_, unscoped(claim_usage));
    return used;
  }

  __int128 count(const std::string& kind, const Value& quota, const std::string& namespace_name) const {
    if (!has_scopes(quota["spec"]))
      return static_cast<__int128>(context_.snapshot().count(kind + "/" + namespace_name + "/")) * kOne;
    __int128 total = 0;
    for (const auto& pod : pods_.list(namespace_name))
      if (is_in_scopes(quota["spec"], document_of(*pod).root())) total += kOne;
    return total;
  }

  Context& context_;
  const Lister quotas_, pods_, services_, claims_;
};

}  // namespace

std::unique_ptr<Controller> make_resource_quota_controller(Context& context) {
  return std::make_unique<ResourceQuotaController>(context);
}

}  // namespace sublet::controllers
