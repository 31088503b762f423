// HostPatch: from a host object and its desired form to the merge patch that brings it there, touching only what the
// syncer owns.
//
// Owned are: the labels and annotations named in the object's own owned-keys annotations, and of the content what the
// kind's own function says (SyncedKind::patch_content). Everything else on the host object (injected containers,
// volumes, annotations of binders) is left alone: no fight. Pure; any thread.
#pragma once

#include <string_view>

#include "sublet/schema/document.h"

namespace sublet::syncer {

/// Names of labels and annotations that the syncer wrote, space-separated; set by note_owned_keys.
inline constexpr std::string_view kAnnotationOwnedLabels = "sublet.dev/owned-labels";
inline constexpr std::string_view kAnnotationOwnedAnnotations = "sublet.dev/owned-annotations";
/// "<container>=<image>" of a pod as the syncer last wanted them, space-separated: the host may run others.
inline constexpr std::string_view kAnnotationTenantImages = "sublet.dev/tenant-images";

/// Records in `desired` which keys it owns. Call once on a freshly translated object.
void note_owned_keys(schema::Value desired);

using PatchContent = void (*)(const schema::Value& host_object, const schema::Value& desired, schema::Value patch);

/// The merge patch; an empty object when the host object already is as desired.
schema::Document make_host_patch(PatchContent patch_content, const schema::Value& host_object,
                                 const schema::Value& desired);

/// Pods: the few spec fields that Kubernetes lets change.
void patch_pod_spec(const schema::Value& host_pod, const schema::Value& desired, schema::Value patch);
/// Services: the spec fields that the tenant's sets; the host fills the others (addresses, families, node ports).
void patch_service_spec(const schema::Value& host_service, const schema::Value& desired, schema::Value patch);
/// ConfigMaps and Secrets: all of their content.
void patch_data(const schema::Value& host_object, const schema::Value& desired, schema::Value patch);

}  // namespace sublet::syncer
