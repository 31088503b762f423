// HostPatch: from a host object and its desired form to the merge patch that brings it there, touching only what the
// syncer owns.
//
// Owned are: keys of sublet.dev in labels and annotations; other keys as long as the value there is the one that the
// syncer wrote (written.h): what the host has written is never overwritten; and of the content what the kind's own
// function says (SyncedKind::patch_content). Everything else on the host object (injected containers, volumes,
// annotations of binders) is left alone: no fight. Pure; any thread.
#pragma once

#include <string_view>

#include "sublet/schema/document.h"

namespace sublet::syncer {

/// Records in `desired` what it writes. Call once on a freshly translated object.
void note_written(schema::Value desired);

using PatchContent = void (*)(const schema::Value& host_object, const schema::Value& desired, schema::Value patch);

/// The merge patch; an empty object when the host object already is as desired. `keep_earlier_labels`: of an object of
/// an earlier version, its old labels stay beside the present ones for now.
schema::Document make_host_patch(PatchContent patch_content, const schema::Value& host_object,
                                 const schema::Value& desired, bool keep_earlier_labels = false);

/// Pods: the few spec fields that Kubernetes lets change.
void patch_pod_spec(const schema::Value& host_pod, const schema::Value& desired, schema::Value patch);
/// Pods, through /ephemeralcontainers: those that the tenant has added; the host's own stay.
void patch_ephemeral_containers(const schema::Value& host_pod, const schema::Value& desired, schema::Value patch);
/// Pods, through /resize: the CPU and memory that the tenant has changed since they were last written, and only they: a
/// host may have filled in or capped the others.
void patch_resources(const schema::Value& host_pod, const schema::Value& desired, schema::Value patch);
/// Services: the spec fields that the tenant's sets; the host fills the others (addresses, families, node ports).
void patch_service_spec(const schema::Value& host_service, const schema::Value& desired, schema::Value patch);
/// ConfigMaps and Secrets: all of their content.
void patch_data(const schema::Value& host_object, const schema::Value& desired, schema::Value patch);

}  // namespace sublet::syncer
