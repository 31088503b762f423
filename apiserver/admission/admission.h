// Admission: the plugins between decoding and storing, in upstream's order, over documents.
//
// admit_mutating() may change the object; admit_validating() may only refuse; charge_quota() comes with the plan. The
// plugins are upstream's default ones (README.md has the table), what comes from the host (read-only but for the
// syncer), and the border (the syncer's translation, so that a refusal reaches the tenant before anything is stored),
// and the tenant's own policies. One file per plugin. Threads: any; state only through the WriteContext's snapshot.
// Plugins that ask outside the process, the tenant's webhooks among them, come after those of their kind: call_out.h.
#pragma once

#include "apiserver/strategies/strategy.h"

namespace sublet::apiserver {

/// `subresource`: a POST to one, which judges and plans by itself. `connect`: what is asked of a pod (exec, proxy ...),
/// which is stored nowhere.
enum class WriteVerb { create, update, remove, subresource, connect };
/// The object is the subresource's own, of which there is one version.
constexpr bool has_own_body(WriteVerb verb) { return verb == WriteVerb::subresource || verb == WriteVerb::connect; }

class Reinvocation;  // admission/reinvocation.h

/// `rounds`: of a write that may ask outside; called again for the second round.
Outcome admit_mutating(WriteContext& context, WriteVerb verb, schema::Value object, const schema::Value& old,
                       Reinvocation* rounds = nullptr);
Outcome admit_validating(WriteContext& context, WriteVerb verb, const schema::Value& object, const schema::Value& old);

/// Of an object that both have let pass, when what they read has changed since: all that only refuses, but for the
/// tenant's policies, which are about the object.
Outcome admit_again(WriteContext& context, WriteVerb verb, const schema::Value& object, const schema::Value& old);
/// ResourceQuota: of a create or update that is about to be planned. Charges what it uses in the Txn, or refuses; a dry
/// run is only judged. The first step of a plan, as upstream's comes before allocations and before the name is looked
/// up.
Outcome charge_quota(WriteContext& context, WriteVerb verb, const schema::Value& object, const schema::Value& old);
/// PodTopologyLabels, for a pod that is bound.
void copy_topology_labels(const WriteContext& context, schema::Value pod);
/// For the Txn of a create: the namespace that admit_mutating() or admit_validating() has just seen must still be so
/// when the object is stored: nothing slips into one that is going.
void guard_namespace(WriteContext& context);

}  // namespace sublet::apiserver
