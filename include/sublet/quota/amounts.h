// Amounts: quantities by name, as resource lists have them, and what of them a pod needs at one time. Pure; any thread.
// Source: k8s.io/apiserver/pkg/quota/v1 and k8s.io/component-helpers/resource of Kubernetes 1.36.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "sublet/schema/document.h"

namespace sublet::quota {

/// `text` is the quantity as it is written; sums are written in the form of their first summand that is not zero.
struct Amount {
  __int128 nanos = 0;
  std::string text = "0";
};
/// So many of something.
Amount number(std::int64_t count);
Amount amount_of(const schema::Value& quantity);
void add(Amount& sum, const Amount& more);

using Amounts = std::map<std::string, Amount, std::less<>>;

/// Of a list of quantities.
Amounts amounts_of(const schema::Value& list);
void add(Amounts& sum, const Amounts& more);
/// The larger one of each name.
void raise(Amounts& most, const Amounts& other);

/// What the containers of a pod ask for at their hungriest moment: containers and sidecars together, or one init
/// container beside the sidecars before it. `list`: "requests" or "limits".
Amounts container_amounts(const schema::Value& pod_spec, std::string_view list);

}  // namespace sublet::quota
