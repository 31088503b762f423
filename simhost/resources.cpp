#include "simhost/resources.h"

#include <algorithm>
#include <limits>

#include "sublet/schema/engine.h"

namespace sublet::simhost {
namespace {

constexpr __int128 kNanosPerMilli = 1'000'000;

std::int64_t to_milli(std::string_view quantity) {
  const auto nanos = schema::quantity_nanos(quantity);
  if (!nanos || *nanos <= 0) return 0;
  const __int128 milli = (*nanos + kNanosPerMilli - 1) / kNanosPerMilli;
  constexpr __int128 kMax = std::numeric_limits<std::int64_t>::max() / 1024;  // sums of many stay in range
  return static_cast<std::int64_t>(std::min(milli, kMax));
}

Resources container_requests(const schema::Value& container) {
  Resources out = read_resources(container["resources"]["limits"]);
  for (const auto& [name, value] : read_resources(container["resources"]["requests"])) out[name] = value;
  return out;
}

void raise_to(Resources& to, const Resources& other) {
  for (const auto& [name, value] : other) to[name] = std::max(to[name], value);
}

}  // namespace

Resources read_resources(const schema::Value& list) {
  Resources out;
  for (const schema::Value entry : list)
    out[std::string(entry.key())] =
        entry.is_string() ? to_milli(entry.text()) : std::max<std::int64_t>(entry.integer(), 0) * kUnit;
  return out;
}

std::int64_t amount(const Resources& resources, std::string_view name) {
  const auto found = resources.find(name);
  return found == resources.end() ? 0 : found->second;
}

void add(Resources& to, const Resources& what, std::int64_t times) {
  for (const auto& [name, value] : what) to[name] += value * times;
}

Resources pod_requests(const schema::Value& pod_spec) {
  Resources sidecars, peak;
  for (const schema::Value container : pod_spec["initContainers"]) {
    const bool sidecar = container["restartPolicy"].text() == "Always";
    Resources beside = sidecars;
    add(beside, container_requests(container));
    if (sidecar) sidecars = beside;
    raise_to(peak, beside);
  }
  Resources out = sidecars;
  for (const schema::Value container : pod_spec["containers"]) add(out, container_requests(container));
  raise_to(out, peak);
  add(out, read_resources(pod_spec["overhead"]));
  out[std::string(kPodsResource)] += kUnit;
  return out;
}

}  // namespace sublet::simhost
