// Rows: what each file of this folder contributes to the table behind strategy_for(), and the steps that most kinds
// share. Internal to strategies/.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "apiserver/request/members.h"
#include "apiserver/strategies/strategy.h"

namespace sublet::apiserver {

// One function per file; each gives one row or a family of rows.
Strategy namespace_strategy();
Strategy pod_strategy();
Strategy config_map_strategy();
Strategy secret_strategy();
Strategy service_strategy();
Strategy service_account_strategy();
Strategy node_strategy();
Strategy certificate_request_strategy();
Strategy custom_resource_definition_strategy();
Strategy event_strategy();
Strategy runtime_class_strategy();
Strategy priority_class_strategy();
Strategy lease_strategy();
Strategy limit_range_strategy();
Strategy endpoints_strategy();
Strategy endpoint_slice_strategy();
Strategy resource_quota_strategy();
Strategy api_service_strategy();
std::vector<Strategy> rights_strategies();
std::vector<Strategy> volume_strategies();
std::vector<Strategy> storage_strategies();
std::vector<Strategy> networking_strategies();
std::vector<Strategy> autoscaling_strategies();
std::vector<Strategy> flow_control_strategies();
std::vector<Strategy> device_strategies();
std::vector<Strategy> group_strategies();
std::vector<Strategy> workload_strategies();
std::vector<Strategy> other_strategies();

// Shared steps.
/// A writer of the main endpoint cannot set status.
Outcome drop_status(WriteContext& context, schema::Value object);
Outcome keep_status(WriteContext& context, schema::Value object, const schema::Value& old);
/// A writer of /status cannot change the other members; metadata is theirs to change, as with most of upstream's kinds.
Outcome keep_other_members(WriteContext& context, schema::Value object, const schema::Value& old);
/// Labels, annotations, finalizers and owners are as they were.
void keep_own_metadata(schema::Value object, const schema::Value& old);
/// The same for kinds that also keep labels, annotations and the like.
Outcome keep_all_but_status(WriteContext& context, schema::Value object, const schema::Value& old);
/// The same for kinds whose /status may also change metadata (Pod, Node, Namespace, Service).
Outcome keep_spec(WriteContext& context, schema::Value object, const schema::Value& old);

/// Fields (dotted paths) behind upstream's gates that are off: they cannot be set unless stored already.
void drop_gated(schema::Value object, const schema::Value& old, std::span<const std::string_view> paths);

/// target[field] = value when it is missing or an empty text.
void default_text(schema::Value target, std::string_view field, std::string_view value);
void default_number(schema::Value target, std::string_view field, std::int64_t value);

}  // namespace sublet::apiserver
