// ContentPatch: which of the content of a host object differs from what is desired and is the tenant's to change, for
// kinds that cross as they are (SyncedKind::patch_content; host_patch.h has those with ways of their own). Pure; any
// thread.
#pragma once

#include "sublet/schema/document.h"

namespace sublet::syncer {

/// Claims: their size and attributes class; all else of them is decided once.
void patch_claim(const schema::Value& host_claim, const schema::Value& desired, schema::Value patch);
/// All content that the tenant's form has. What it no longer has goes with a change of the tenant's, and what the host
/// adds stays until then: of lists too.
void patch_all_of_it(const schema::Value& host_object, const schema::Value& desired, schema::Value patch);
/// The same, but that the host may name the class.
void patch_ingress(const schema::Value& host_ingress, const schema::Value& desired, schema::Value patch);
/// ... and that a host without the feature gate of disruptionMode keeps none, which says the same as "Pod".
void patch_pod_group(const schema::Value& host_group, const schema::Value& desired, schema::Value patch);
/// ... and that the host keeps Secrets of its own.
/// Of a volume what Kubernetes lets change, but for its claim; it only grows.
void patch_volume(const schema::Value& host_volume, const schema::Value& desired, schema::Value patch);
void patch_account(const schema::Value& host_account, const schema::Value& desired, schema::Value patch);

}  // namespace sublet::syncer
