// ResourceQuota: a write that would use more than a quota of its namespace, or of the platform, allows is refused; what
// it uses is charged in the same Txn, so that no two writes use the same rest. What goes gives back by the
// ResourceQuota controller's count.
#include <algorithm>

#include "apiserver/admission/plugins.h"
#include "apiserver/codec/object_bytes.h"
#include "sublet/base/text.h"
#include "sublet/quota/measure.h"

namespace sublet::apiserver {
namespace {

using quota::Amount;
using quota::Amounts;
using quota::Measure;
using schema::Value;

constexpr std::string_view kResourceQuotas = "resourcequotas", kResourceQuotaPrefix = "resourcequotas/";

/// "cpu=1,memory=1Gi" of these names.
std::string list_text(const Amounts& amounts, const std::vector<std::string>& names) {
  std::string text;
  for (const auto& name : names)
    if (const auto found = amounts.find(name); found != amounts.end())
      text.append(text.empty() ? "" : ",").append(name).append("=").append(found->second.text);
  return text;
}

/// What `now` is more than `before`, but nothing negative.
Amounts growth(Amounts now, const Amounts& before) {
  for (auto& [name, amount] : now) {
    const auto old = before.find(name);
    if (old == before.end()) continue;
    Amount less = old->second;
    less.nanos = -less.nanos;
    quota::add(amount, less);
    if (amount.nanos < 0) amount = {};
  }
  return now;
}

/// One quota that the object falls under.
struct Ledger {
  store::ObjectPtr stored;
  schema::Document document;
  Amounts hard, used;              // of its status: what the controller has counted
  std::vector<std::string> names;  // of its limits that are about the object; sorted

  std::string name() const { return document["metadata"]["name"].string(); }
};

/// One write against the quotas of its namespace.
class Charge {
 public:
  Charge(const Attempt& attempt, const Measure& measure) : attempt_(attempt), measure_(measure) {}

  Outcome run() {
    if (auto read = read_ledgers(); !read || ledgers_.empty()) return read;
    usage_ = measure_.usage(attempt_.object, attempt_.context.clock.now());
    if (auto sane = check_signs(); !sane) return sane;
    if (attempt_.verb == WriteVerb::update) old_usage_ = measure_.usage(attempt_.old, attempt_.context.clock.now());
    for (auto& ledger : ledgers_)
      if (auto charged = charge(ledger); !charged) return charged;
    return {};
  }

 private:
  Outcome read_ledgers() {
    Outcome outcome;
    const auto prefix = std::string(kResourceQuotaPrefix).append(attempt_.context.namespace_name).append("/");
    attempt_.context.pending.scan(prefix, {}, [&](const store::ObjectPtr& stored) {
      if (auto document = stored_document(*stored)) outcome = add_ledger(stored, std::move(*document));
      return outcome.has_value();
    });
    if (!outcome) return outcome;
    each_platform_limit(attempt_.context, kResourceQuotas,
                        [&](const store::ObjectPtr& stored, schema::Document document) {
                          outcome = add_ledger(stored, std::move(document));
                          return outcome.has_value();
                        });
    return outcome;
  }

  Outcome add_ledger(const store::ObjectPtr& stored, schema::Document document) {
    Ledger ledger{stored, std::move(document), {}, {}, {}};
    const Value status = ledger.document["status"];
    for (const Value limit : status["hard"])
      if (measure_.covers(limit.key())) ledger.names.emplace_back(limit.key());
    if (ledger.names.empty() || !measure_.is_in_scopes(ledger.document["spec"], attempt_.object)) return {};
    std::sort(ledger.names.begin(), ledger.names.end());
    if (const auto lacking = measure_.lacks(ledger.names, attempt_.object); !lacking.empty())
      return attempt_.forbid("failed quota: " + ledger.name() + ": " + lacking);
    ledger.hard = quota::amounts_of(status["hard"]);
    ledger.used = quota::amounts_of(status["used"]);
    for (const auto& name : ledger.names)
      if (!ledger.used.contains(name))
        return attempt_.forbid("status unknown for quota: " + ledger.name() +
                               ", resources: " + join(ledger.names, ","));
    ledgers_.push_back(std::move(ledger));
    return {};
  }

  Outcome check_signs() const {
    std::vector<std::string> negative;
    for (const auto& [name, amount] : usage_)
      if (amount.nanos < 0) negative.push_back(name);
    if (negative.empty()) return {};
    return attempt_.forbid("quota usage is negative for resource(s): " + join(negative, ","));
  }

  // An object that comes under the quota by this update is charged whole.
  Amounts added_to(const Ledger& ledger) const {
    const bool was_in =
        attempt_.verb == WriteVerb::update && measure_.is_in_scopes(ledger.document["spec"], attempt_.old);
    Amounts more = was_in ? growth(usage_, old_usage_) : usage_;
    std::erase_if(more,
                  [&](const auto& entry) { return entry.second.nanos == 0 || !ledger.hard.contains(entry.first); });
    return more;
  }

  Outcome charge(Ledger& ledger) const {
    const Amounts more = added_to(ledger);
    if (more.empty()) return {};
    std::vector<std::string> exceeded;
    const Amounts before = ledger.used;
    quota::add(ledger.used, more);
    for (const auto& [name, amount] : more)
      if (ledger.used[name].nanos > ledger.hard[name].nanos) exceeded.push_back(name);
    if (!exceeded.empty() && attempt_.context.subresource != "status")
      return attempt_.forbid("exceeded quota: " + ledger.name() + ", requested: " + list_text(more, exceeded) +
                             ", used: " + list_text(before, exceeded) +
                             ", limited: " + list_text(ledger.hard, exceeded));
    return write(ledger, more);
  }

  Outcome write(Ledger& ledger, const Amounts& more) const {
    auto& context = attempt_.context;
    if (context.dry_run) return {};
    Value used = ledger.document["status"].object("used");
    for (const auto& entry : more) used.put(entry.first, ledger.used[entry.first].text);
    const auto* const facts = context.kinds.find_resource("", "v1", "resourcequotas");
    auto put = make_put(ledger.document.root(), *facts, strategy_for("", "resourcequotas"));
    if (!put) return fail(put.error());
    context.txn.guards.push_back({ledger.stored->key, ledger.stored->revision});
    context.txn.ops.push_back({ledger.stored->key, std::move(*put)});
    return {};
  }

  const Attempt& attempt_;
  const Measure& measure_;
  std::vector<Ledger> ledgers_;
  Amounts usage_, old_usage_;
};

// Most namespaces have none, and then nothing is allocated.
bool has_quotas(const WriteContext& context) {
  if (context.pending.count(kResourceQuotaPrefix) == 0) return false;
  return context.pending.count(std::string(kResourceQuotaPrefix).append(context.namespace_name).append("/")) > 0 ||
         has_platform_limits(context, kResourceQuotas);
}

}  // namespace

Outcome charge_quota(WriteContext& context, WriteVerb verb, const Value& object, const Value& old) {
  if (context.namespace_name.empty() || context.resource.resource == "namespaces" || !has_quotas(context)) return {};
  const Measure measure(context.resource.group, context.resource.resource);
  if (!measure.is_charged()) return {};
  const bool concerned = verb == WriteVerb::create ? context.subresource.empty()
                                                   : measure.is_changed_by_update(context.subresource, object, old);
  if (!concerned) return {};
  const Attempt attempt{context, verb, object, old};
  return Charge(attempt, measure).run();
}

}  // namespace sublet::apiserver
