// Admission configurations: what upstream refuses of webhook configurations, admission policies and their bindings,
// expressions that do not compile included (pkg/apis/admissionregistration/validation). Objects are defaulted before.
// Pure; any thread.
#pragma once

#include "apiserver/validation/field_errors.h"

namespace sublet::apiserver {

void validate_validating_webhooks(const schema::Value& configuration, Causes& causes);
void validate_mutating_webhooks(const schema::Value& configuration, Causes& causes);
void validate_validating_policy(const schema::Value& policy, Causes& causes);
void validate_mutating_policy(const schema::Value& policy, Causes& causes);
void validate_validating_binding(const schema::Value& binding, Causes& causes);
void validate_mutating_binding(const schema::Value& binding, Causes& causes);

}  // namespace sublet::apiserver
