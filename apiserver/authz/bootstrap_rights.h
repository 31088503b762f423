// BootstrapRights: the roles and bindings that every cluster begins with, under upstream's names, and how stored ones
// are reconciled at a start. Data: generated/bootstrap_rights.inc (tools/rbac/generate.py). Pure.
#pragma once

#include <span>
#include <string_view>

#include "sublet/schema/document.h"
#include "sublet/schema/registry.h"

namespace sublet::apiserver {

/// One object each, as JSON; in the order in which they are to be written.
std::span<const std::string_view> bootstrap_rights();

/// What upstream's roles have beside, where these kinds are served: it has them behind a feature gate.
void add_rights_of_served(schema::Value right, const schema::Registry& kinds);

enum class Reconciled : unsigned char { nothing, changed, recreate };
/// Adds to `stored` what it lacks of `wanted`: rules, subjects, selectors, labels, annotations; what somebody added
/// stays. Objects that are annotated not to be updated are left alone. `recreate`: it refers to another role, which no
/// update can change.
Reconciled reconcile_right(schema::Value stored, const schema::Value& wanted);

}  // namespace sublet::apiserver
