#include "apiserver/strategies/rows.h"
#include "apiserver/validation/field_errors.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

void validate(const Value& object, Causes& causes) {
  auto spec = object["spec"];
  if (auto duration = spec["leaseDurationSeconds"]) positive(causes, "spec.leaseDurationSeconds", duration.integer());
  nonnegative(causes, "spec.leaseTransitions", spec["leaseTransitions"].integer());
  if (!spec["preferredHolder"].text().empty() && spec["strategy"].text().empty())
    forbidden(causes, "spec.preferredHolder", "may only be specified if `strategy` is defined");
}

}  // namespace

Strategy lease_strategy() {
  Strategy row;
  row.group = "coordination.k8s.io";
  row.resource = "leases";
  row.create_on_update = true;
  row.unconditional_update = false;
  row.validate = validate;
  return row;
}

}  // namespace sublet::apiserver
