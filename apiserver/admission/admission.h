// Admission: the plugins between decoding and storing, in upstream's order, over documents.
//
// admit_mutating() may change the object; admit_validating() may only refuse; charge_quota() is a part of the plan. The
// plugins are upstream's default ones, two of our own (objects of the host are read-only; an object that the syncer
// could not carry to the host is refused), and the tenant's policies. plugin_table.h says which runs when. Plugins that
// ask outside the process, the tenant's webhooks among them, run after these: call_out.h.
// Threads: any; state only through the WriteContext's snapshot.
#pragma once

#include "apiserver/strategies/strategy.h"

namespace sublet::apiserver {

/// `subresource`: a POST to one, with a body of its own kind. `connect`: a request to a pod (exec, proxy ...), which is
/// not stored.
enum class WriteVerb { create, update, remove, subresource, connect };
/// The object is the subresource's own, of which there is one version.
constexpr bool has_own_body(WriteVerb verb) { return verb == WriteVerb::subresource || verb == WriteVerb::connect; }

class Reinvocation;  // admission/reinvocation.h

/// `rounds`: of a write that may ask outside; the second round calls this again.
Outcome admit_mutating(WriteContext& context, WriteVerb verb, schema::Value object, const schema::Value& old,
                       Reinvocation* rounds = nullptr);
Outcome admit_validating(WriteContext& context, WriteVerb verb, const schema::Value& object, const schema::Value& old);

/// Repeats the validating plugins when the state that they read has changed since they admitted the object. The
/// tenant's policies are not repeated: they depend on the object only.
Outcome admit_again(WriteContext& context, WriteVerb verb, const schema::Value& object, const schema::Value& old);
/// ResourceQuota: charges what a create or update uses in its Txn, or refuses it; a dry run is only checked. The first
/// step of a plan, as upstream's runs before allocations and before the name is looked up.
Outcome charge_quota(WriteContext& context, WriteVerb verb, const schema::Value& object, const schema::Value& old);
/// Adds a guard to the Txn of a create: the namespace must not have changed since admission, so that no object is
/// stored in a namespace that is being terminated.
void guard_namespace(WriteContext& context);

}  // namespace sublet::apiserver
