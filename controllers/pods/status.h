// Status: what the controllers of workloads share when they write what they saw: counts, conditions, the update itself.
//
// Values of one Document; pure but for put_status().
#pragma once

#include <string>
#include <string_view>

#include "sublet/base/clock.h"
#include "sublet/kube/client.h"
#include "sublet/kube/conditions.h"
#include "sublet/schema/document.h"

namespace sublet::controllers {

/// A count that is left out when it is 0, as upstream's omitempty does.
void put_count(schema::Value status, std::string_view field, std::int64_t count);

using kube::find_condition;
/// Takes it away, and the list with the last one.
void erase_condition(schema::Value status, std::string_view type);

// Types of conditions.
inline constexpr std::string_view kDisruptionTarget = "DisruptionTarget", kReplicaFailure = "ReplicaFailure";

struct Condition {
  std::string_view type, status, reason;
  std::string message;
};
/// Adds the condition at the end of the list; one of its type with the same status and reason stays as it is. False:
/// nothing has changed.
bool put_condition(schema::Value status, const Condition& condition, WallTime now);

/// Sends the status that `object` has now; the resourceVersion in it guards against what came in between. Null: the
/// object is gone.
Result<schema::Document> put_status(const kube::Client& client, const kube::Resource& resource,
                                    const schema::Value& object);

}  // namespace sublet::controllers
