// Admission: the plugins between decoding and storing, in upstream's order, over documents.
//
// admit_mutating() may change the object; admit_validating() may only refuse. Plugins: NamespaceLifecycle,
// LimitRanger, ServiceAccount, TaintNodesByCondition, Priority, DefaultTolerationSeconds, RuntimeClass,
// CertificateSubjectRestriction, and the border (the syncer's translation, so that a refusal reaches the tenant before
// anything is stored). One file per plugin. Threads: any; state only through the WriteContext's snapshot.
#pragma once

#include "apiserver/strategies/strategy.h"

namespace sublet::apiserver {

enum class WriteVerb { create, update, remove };

Outcome admit_mutating(WriteContext& context, WriteVerb verb, schema::Value object, const schema::Value& old);
Outcome admit_validating(WriteContext& context, WriteVerb verb, const schema::Value& object, const schema::Value& old);

}  // namespace sublet::apiserver
