// Manage fields: metadata.managedFields of every write, whatever its verb. Internal to verbs/.
//
// Stands between what the writer sent (with its defaults) and admission. Pure but for the clock.
#pragma once

#include "apiserver/apply/field_manager.h"
#include "apiserver/verbs/phases.h"

namespace sublet::apiserver {

/// The request's endpoint: the resource in the served version.
ManagedEndpoint managed_endpoint(const RequestContext& request);
/// Who writes: ?fieldManager, or the User-Agent.
std::string field_manager(const RequestContext& request);

/// What metadata.managedFields becomes by the draft's change, null: none. The draft's object loses its own.
schema::Document managed_fields_of(Write& write, Draft& draft);
void put_managed_fields(schema::Value object, const schema::Value& managed_fields);
/// Both, for a new object.
void manage_fields(Write& write, Draft& draft);
/// Takes back the times in managedFields when nothing else of the object differs from `old`: no write for a time alone.
void keep_managed_times(schema::Value object, const schema::Value& old);

}  // namespace sublet::apiserver
