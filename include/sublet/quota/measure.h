// Measure: how much of what ResourceQuotas limit the objects of one resource use, and which of them a quota is about.
//
// One answer for who refuses (the API server's admission) and for who counts (the ResourceQuota controller). Values;
// pure; any thread. Source: pkg/quota/v1/evaluator/core of Kubernetes 1.36; what claims ask of devices counts by device
// class, not by extended resource.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sublet/base/clock.h"
#include "sublet/quota/amounts.h"
#include "sublet/schema/document.h"

namespace sublet::quota {

class Measure {
 public:
  /// Objects that are stored as this resource. The texts must outlive the Measure.
  Measure(std::string_view group, std::string_view resource);

  /// False: no quota is ever about them (events).
  bool is_charged() const { return kind_ != Kind::free; }
  /// More than their number counts.
  /// The name of a quota's limit ("requests.cpu", "count/jobs.batch") is about them.
  bool covers(std::string_view name) const;
  /// A pod that has ended, or should have long ago, is only counted.
  Amounts usage(const schema::Value& object, WallTime now) const;
  /// The object is in all scopes of the quota.
  bool is_in_scopes(const schema::Value& quota_spec, const schema::Value& object) const;
  /// A write of this kind may change what is used. `subresource` "": of the object itself.
  bool is_changed_by_update(std::string_view subresource, const schema::Value& object, const schema::Value& old) const;
  /// What an object must say because a quota limits these names: "must specify cpu for: a,b", or "".
  std::string lacks(const std::vector<std::string>& names, const schema::Value& object) const;

 private:
  enum class Kind : std::uint8_t { free, counted, pods, services, claims, resource_claims };
  std::string_view group_, resource_;
  Kind kind_;
};

bool has_scopes(const schema::Value& quota_spec);
/// What is counted by number: the plural of "count/deployments.apps", "secrets", as keys of the store begin; "" for
/// what is measured otherwise.
std::string counted_resource(std::string_view name);

}  // namespace sublet::quota
