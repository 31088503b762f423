#include "apiserver/strategies/rows.h"
#include "apiserver/validation/field_errors.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

void validate_lease(const Value& object, Causes& causes) {
  auto spec = object["spec"];
  if (auto duration = spec["leaseDurationSeconds"]) positive(causes, "spec.leaseDurationSeconds", duration.integer());
  nonnegative(causes, "spec.leaseTransitions", spec["leaseTransitions"].integer());
}

/// Coordinated leader election is an alpha feature that upstream has off: its fields are dropped.
Outcome prepare_lease_create(WriteContext&, Value object) {
  auto spec = object.object("spec");
  for (auto field : {"strategy", "preferredHolder"}) spec.erase(field);
  return {};
}

Outcome prepare_lease_update(WriteContext& context, Value object, const Value&) {
  return prepare_lease_create(context, object);
}

}  // namespace

Strategy lease_strategy() {
  Strategy row;
  row.group = "coordination.k8s.io";
  row.resource = "leases";
  row.create_on_update = true;
  row.unconditional_update = false;
  row.prepare_create = prepare_lease_create;
  row.prepare_update = prepare_lease_update;
  row.validate = validate_lease;
  return row;
}

}  // namespace sublet::apiserver
