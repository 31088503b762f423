// QuotaUsage: how much of what a ResourceQuota limits is used by one object, and which objects it is about. Pure.
// Source: pkg/quota/v1/evaluator/core of Kubernetes.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "sublet/base/clock.h"
#include "sublet/schema/document.h"

namespace sublet::controllers {

using Usage = std::map<std::string, __int128>;  // nano units by name: "requests.cpu"

/// A pod that has ended, or should have long ago, uses nothing.
Usage pod_usage(const schema::Value& pod, WallTime now);
Usage service_usage(const schema::Value& service);
Usage claim_usage(const schema::Value& claim);
void add(Usage& total, const Usage& more);

/// The pod is in all scopes of the quota.
bool is_in_scopes(const schema::Value& quota_spec, const schema::Value& pod);
bool has_scopes(const schema::Value& quota_spec);

/// What is counted by number: the plural of "count/deployments.apps", "secrets" or "services", as its store's keys
/// begin; "" for what is measured otherwise.
std::string counted_kind(std::string_view name);
/// Measured on pods, Services, claims.
enum class Measured : std::uint8_t { nowhere, pods, services, claims };
Measured measured_on(std::string_view name);

}  // namespace sublet::controllers
