// LimitRanger: applies the LimitRanges of a namespace to its pods and claims. Containers without requests or limits get
// the ranges' defaults; minima, maxima and ratios are then checked on the finished object. A resize of a pod is both.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>

#include "apiserver/admission/plugins.h"
#include "sublet/quota/amounts.h"

namespace sublet::apiserver {
namespace {

using quota::Amount;
using quota::Amounts;
using quota::amounts_of;
using schema::Value;

constexpr std::string_view kLimitRangerAnnotation = "kubernetes.io/limit-ranger";

struct Use {
  Amounts requests, limits;
};

Use use_of(const Value& resources) { return {amounts_of(resources["requests"]), amounts_of(resources["limits"])}; }

/// Requests or limits of a whole pod. Pod-level values replace the sum over its containers.
Amounts pod_amounts(const Value& spec, std::string_view list) {
  Amounts sum = quota::container_amounts(spec, list);
  for (const auto& [name, amount] : amounts_of(spec["resources"][list]))
    if (name == "cpu" || name == "memory") sum[name] = amount;
  return sum;
}

constexpr __int128 kMilli = 1'000'000, kWhole = 1'000'000'000, kMilliMax = INT64_MAX / 1000;

__int128 rounded_up(__int128 nanos, __int128 unit) { return nanos / unit + (nanos % unit > 0); }

/// Request, limit and bound in thousandths, or in whole units when one of them is too large for that: upstream's
/// precision.
struct Measured {
  __int128 request, limit, bound;
  Measured(const Amount& request_, const Amount& limit_, const Amount& bound_) {
    auto largest = std::max({request_.nanos, limit_.nanos, bound_.nanos});
    auto unit = rounded_up(largest, kWhole) <= kMilliMax ? kMilli : kWhole;
    request = rounded_up(request_.nanos, unit);
    limit = rounded_up(limit_.nanos, unit);
    bound = rounded_up(bound_.nanos, unit);
  }
};

/// One bound of a range. Its functions return the error, or "".
struct BoundCheck {
  std::string what;  // "cpu usage per Container is 50m"
  Amount bound;
  const Amount* request;  // null: not set
  const Amount* limit;
  bool limits_count = true;  // claims have none

  Measured measured() const { return {request ? *request : Amount(), limit ? *limit : Amount(), bound}; }

  std::string minimum() const {
    auto values = measured();
    if (!request) return "minimum " + what + ".  No request is specified";
    if (values.request < values.bound) return "minimum " + what + ", but request is " + request->text;
    if (limit && values.limit < values.bound) return "minimum " + what + ", but limit is " + limit->text;
    return {};
  }

  std::string maximum() const {
    auto values = measured();
    if (limits_count && !limit) return "maximum " + what + ".  No limit is specified";
    if (!limits_count && !request) return "maximum " + what + ".  No request is specified";
    if (limit && values.limit > values.bound) return "maximum " + what + ", but limit is " + limit->text;
    if (request && values.request > values.bound) return "maximum " + what + ", but request is " + request->text;
    return {};
  }

  std::string ratio() const {
    auto values = measured();
    if (!request || values.request == 0) return what + ", but no request is specified or request is 0";
    if (!limit || values.limit == 0) return what + ", but no limit is specified or limit is 0";
    auto ratio = static_cast<double>(values.limit) / static_cast<double>(values.request);
    if (ratio * 1000 <= static_cast<double>(rounded_up(bound.nanos, kMilli))) return {};
    char digits[64];
    std::snprintf(digits, sizeof digits, "%f", ratio);
    return what + ", but provided ratio is " + digits;
  }
};

/// The distinct errors of one attempt.
class LimitComplaints {
 public:
  void add(std::string text) {
    if (!text.empty() && std::find(texts_.begin(), texts_.end(), text) == texts_.end())
      texts_.push_back(std::move(text));
  }
  bool empty() const { return texts_.empty(); }
  std::string text() const {
    if (texts_.size() == 1) return texts_[0];
    std::string all;
    for (const auto& one : texts_) all += (all.empty() ? "[" : ", ") + one;
    return all + "]";
  }

 private:
  std::vector<std::string> texts_;
};

const Amount* find_amount(const Amounts& amounts, std::string_view name) {
  auto at = amounts.find(name);
  return at == amounts.end() ? nullptr : &at->second;
}

void check_limit(LimitComplaints& complaints, const Value& limit, const Use& use, bool limits_count = true) {
  auto type = limit["type"].string();
  auto each = [&](std::string_view list, std::string_view words, std::string (BoundCheck::*verdict)() const) {
    for (const auto& [name, bound] : amounts_of(limit[list])) {
      auto what = name + " " + std::string(words) + " per " + type + " is " + bound.text;
      BoundCheck one{std::move(what), bound, find_amount(use.requests, name), find_amount(use.limits, name),
                     limits_count};
      complaints.add((one.*verdict)());
    }
  };
  each("min", "usage", &BoundCheck::minimum);
  each("max", "usage", &BoundCheck::maximum);
  if (limits_count) each("maxLimitRequestRatio", "max limit to request ratio", &BoundCheck::ratio);
}

void check_pod_limits(LimitComplaints& complaints, const Value& limit, const Value& spec) {
  auto type = limit["type"].text();
  if (type == "Container")
    for (auto list : {"containers", "initContainers"})
      for (auto container : spec[list]) check_limit(complaints, limit, use_of(container["resources"]));
  if (type == "Pod") check_limit(complaints, limit, {pod_amounts(spec, "requests"), pod_amounts(spec, "limits")});
}

void check_claim(LimitComplaints& complaints, const Value& limit, const Value& spec) {
  if (limit["type"].text() != "PersistentVolumeClaim") return;
  check_limit(complaints, limit, {amounts_of(spec["resources"]["requests"]), {}}, false);
}

void each_range(const WriteContext& context, const std::function<bool(const Value&)>& visit) {
  bool more = true;
  context.pending.scan("limitranges/" + std::string(context.namespace_name) + "/", {},
                       [&](const store::ObjectPtr& stored) {
                         auto range = schema::Document::parse_json(stored->json());
                         more = !range || visit(range->root());
                         return more;
                       });
  if (more)
    each_platform_limit(context, "limitranges",
                        [&](const store::ObjectPtr&, const schema::Document& range) { return visit(range.root()); });
}

/// Adds the missing defaults to `resources[list]`; returns their names ("cpu, memory").
std::string fill_amounts(Value resources, std::string_view list, const Amounts& defaults) {
  std::string names;
  for (const auto& [name, amount] : defaults) {
    if (resources[list].has(name)) continue;
    resources.object(list).put(name, amount.text);
    names += (names.empty() ? "" : ", ") + name;
  }
  if (!names.empty()) resources[list].sort_keys();
  return names;
}

void give_defaults(Value pod, const Value& range) {
  Use defaults;
  for (auto limit : range["spec"]["limits"]) {
    if (limit["type"].text() != "Container") continue;
    for (const auto& [name, amount] : amounts_of(limit["defaultRequest"])) defaults.requests[name] = amount;
    for (const auto& [name, amount] : amounts_of(limit["default"])) defaults.limits[name] = amount;
  }
  std::string what_was_set;
  auto note = [&](const std::string& names, std::string_view what, std::string_view role, const Value& container) {
    if (names.empty()) return;
    what_was_set += (what_was_set.empty() ? "LimitRanger plugin set: " : "; ") + names + " " + std::string(what) +
                    " for " + std::string(role) + " " + container["name"].string();
  };
  for (auto [list, role] : {std::pair{"containers", "container"}, {"initContainers", "init container"}}) {
    for (auto container : pod["spec"][list]) {
      auto resources = container.object("resources");
      note(fill_amounts(resources, "requests", defaults.requests), "request", role, container);
      note(fill_amounts(resources, "limits", defaults.limits), "limit", role, container);
    }
  }
  if (what_was_set.empty()) return;
  auto annotations = pod.object("metadata").object("annotations");
  annotations.put(kLimitRangerAnnotation, what_was_set);
  annotations.sort_keys();
}

bool is_being_deleted(const Attempt& attempt) { return attempt.old["metadata"].has("deletionTimestamp"); }

}  // namespace

Outcome limit_defaults(const Attempt& attempt) {
  if (is_being_deleted(attempt)) return {};
  each_range(attempt.context, [&](const Value& range) {
    give_defaults(attempt.object, range);
    return true;
  });
  return {};
}

Outcome limit_bounds(const Attempt& attempt) {
  if (is_being_deleted(attempt)) return {};
  const bool is_pod = attempt.context.resource.resource == "pods";
  LimitComplaints complaints;
  each_range(attempt.context, [&](const Value& range) {
    for (auto limit : range["spec"]["limits"])
      (is_pod ? check_pod_limits : check_claim)(complaints, limit, attempt.object["spec"]);
    return complaints.empty();  // reports the first range that is broken
  });
  if (complaints.empty()) return {};
  return attempt.forbid(complaints.text());
}

}  // namespace sublet::apiserver
