#include <algorithm>
#include <cstdio>
#include <iterator>
#include <set>

#include "apiserver/strategies/rows.h"
#include "apiserver/validation/names.h"
#include "apiserver/validation/resources.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

constexpr std::string_view kLimitTypes[] = {"Pod", "Container", "PersistentVolumeClaim"};
constexpr std::string_view kLimitLists[] = {"max", "min", "default", "defaultRequest", "maxLimitRequestRatio"};

/// For containers, limits follow from maxima, and requests from limits and minima.
void set_defaults(Value object) {
  for (auto limit : object["spec"]["limits"]) {
    if (limit["type"].text() != "Container") continue;
    auto limits = limit.object("default"), requests = limit.object("defaultRequest");
    for (auto value : limit["max"])
      if (!limits.has(value.key())) limits.put(value.key(), value);
    for (auto source : {"default", "min"})
      for (auto value : limit[source])
        if (!requests.has(value.key())) requests.put(value.key(), value);
    limits.sort_keys();
    requests.sort_keys();
  }
}

void validate_limit_type(Causes& causes, const std::string& at, std::string_view type) {
  if (auto messages = qualified_name(type); !messages.empty()) return invalid_each(causes, at, type, messages);
  if (type.find('/') == std::string_view::npos &&
      std::find(std::begin(kLimitTypes), std::end(kLimitTypes), type) == std::end(kLimitTypes))
    invalid(causes, at, type, "must be a standard limit type or fully qualified");
}

/// Two amounts of one resource of which the first must not be the larger; upstream blames now one, now the other.
struct OrderFacts {
  std::string_view small, large, blamed, value, words_small, words_large;
};
constexpr OrderFacts kOrders[] = {
    {"min", "max", "min", "min", "min value", "max value"},
    {"min", "defaultRequest", "defaultRequest", "defaultRequest", "min value", "default request value"},
    {"defaultRequest", "max", "defaultRequest", "defaultRequest", "default request value", "max value"},
    {"defaultRequest", "default", "defaultRequest", "defaultRequest", "default request value", "default limit value"},
    {"min", "default", "default", "min", "min value", "default value"},
    {"default", "max", "default", "max", "default value", "max value"}};

void validate_order(Causes& causes, const std::string& at, const Value& limit, const std::string& name) {
  const bool of_pod = limit["type"].text() == "Pod";  // has no defaults, and what it says of them was refused
  for (const auto& facts : kOrders) {
    if (of_pod && (facts.small.starts_with("default") || facts.large.starts_with("default"))) continue;
    auto small = limit[facts.small][name], large = limit[facts.large][name];
    if (!small || !large || compare_quantities(small, large) <= 0) continue;
    invalid(causes, keyed(child(at, facts.blamed), name), limit[facts.value][name],
            std::string(facts.words_small) + " " + small.string() + " is greater than " +
                std::string(facts.words_large) + " " + large.string());
  }
}

void validate_ratio(Causes& causes, const std::string& at, const Value& limit, const std::string& name) {
  auto ratio = limit["maxLimitRequestRatio"][name], smallest = limit["min"][name], largest = limit["max"][name];
  if (!ratio) return;
  constexpr double kUnit = 1e9;
  auto field = keyed(child(at, "maxLimitRequestRatio"), name);
  auto value = static_cast<double>(quantity_nanos_of(ratio)) / kUnit;
  if (value < 1) invalid(causes, field, ratio, "ratio " + ratio.string() + " is less than 1");
  if (!smallest || !largest) return;
  auto most = static_cast<double>(quantity_nanos_of(largest)) / static_cast<double>(quantity_nanos_of(smallest));
  if (!(value > most)) return;
  char digits[64];
  std::snprintf(digits, sizeof digits, "%f", most);
  invalid(causes, field, ratio, "ratio " + ratio.string() + " is greater than max/min = " + digits);
}

void validate_limit_amounts(Causes& causes, const std::string& at, const Value& limit, const std::string& name) {
  validate_order(causes, at, limit, name);
  validate_ratio(causes, at, limit, name);
  auto amount = limit["default"][name], request = limit["defaultRequest"][name];
  if (!is_overcommit_allowed(name) && amount && request && compare_quantities(amount, request) != 0)
    invalid(
        causes, keyed(child(at, "defaultRequest"), name), request,
        "default value " + amount.string() + " must equal to defaultRequest value " + request.string() + " in " + name);
}

void validate_limit(Causes& causes, const std::string& at, const Value& limit) {
  auto type = limit["type"].text();
  const bool of_pod = type == "Pod";
  std::set<std::string> names;
  for (auto list : kLimitLists) {
    const bool is_default = list.starts_with("default");
    if (of_pod && is_default) {
      if (!limit[list].empty()) forbidden(causes, child(at, list), "may not be specified when `type` is 'Pod'");
      continue;
    }
    if (list == "maxLimitRequestRatio" && type == "PersistentVolumeClaim" && !limit["min"].has("storage") &&
        !limit["max"].has("storage"))
      required(causes, child(at, "limits"),
               "either minimum or maximum storage value is required, but neither was provided");
    for (auto amount : limit[list]) {
      auto field = keyed(child(at, list), amount.key());
      if (of_pod || type == "Container")
        validate_container_resource_name(causes, field, amount.key());
      else
        validate_resource_name(causes, field, amount.key());
      names.emplace(amount.key());
    }
  }
  for (const auto& name : names) validate_limit_amounts(causes, at, limit, name);
}

void validate_limit_range(const Value& object, Causes& causes) {
  std::set<std::string> types;
  std::size_t index = 0;
  for (auto limit : object["spec"]["limits"]) {
    auto at = item("spec.limits", index++);
    auto type = limit["type"].string();
    validate_limit_type(causes, child(at, "type"), type);
    if (!types.insert(type).second) duplicate(causes, child(at, "type"), type);
    validate_limit(causes, at, limit);
  }
}

/// A LimitRange without a name gets a uuid as its name.
Outcome name_by_chance(WriteContext& context, Value object) {
  if (auto metadata = object.object("metadata"); metadata["name"].text().empty())
    metadata.put("name", uuid_v4(context.random));
  return {};
}

}  // namespace

Strategy limit_range_strategy() {
  Strategy row;
  row.group = "";
  row.resource = "limitranges";
  row.create_on_update = true;
  row.defaults = set_defaults;
  row.prepare_create = name_by_chance;
  row.validate = validate_limit_range;
  return row;
}

}  // namespace sublet::apiserver
