#include "sublet/quota/amounts.h"

#include "sublet/schema/engine.h"

namespace sublet::quota {

using schema::Value;

namespace {

constexpr __int128 kOne = 1'000'000'000;

}  // namespace

Amount number(std::int64_t count) { return {count * kOne, std::to_string(count)}; }

Amount amount_of(const Value& quantity) {
  auto text = quantity.is_string() ? quantity.string() : quantity.to_json();
  const auto nanos = schema::quantity_nanos(text).value_or(0);
  return {nanos, std::move(text)};
}

void add(Amount& sum, const Amount& more) {
  const auto nanos = sum.nanos + more.nanos;
  sum.text = schema::quantity_from_nanos(nanos, sum.nanos == 0 ? more.text : sum.text);
  sum.nanos = nanos;
}

Amounts amounts_of(const Value& list) {
  Amounts amounts;
  for (const Value quantity : list) amounts.emplace(quantity.key(), amount_of(quantity));
  return amounts;
}

void add(Amounts& sum, const Amounts& more) {
  for (const auto& [name, amount] : more)
    if (const auto [at, fresh] = sum.try_emplace(name, amount); !fresh) add(at->second, amount);
}

void raise(Amounts& most, const Amounts& other) {
  for (const auto& [name, amount] : other)
    if (const auto [at, fresh] = most.try_emplace(name, amount); !fresh && amount.nanos > at->second.nanos)
      at->second = amount;
}

Amounts container_amounts(const Value& spec, std::string_view list) {
  Amounts sum, sidecars, starting;
  for (const Value container : spec["containers"]) add(sum, amounts_of(container["resources"][list]));
  for (const Value container : spec["initContainers"]) {
    auto own = amounts_of(container["resources"][list]);
    if (container["restartPolicy"].text() == "Always") {
      add(sum, own);
      add(sidecars, own);
      own = sidecars;
    } else {
      add(own, sidecars);
    }
    raise(starting, own);
  }
  raise(sum, starting);
  return sum;
}

}  // namespace sublet::quota
