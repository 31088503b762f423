// HostObject: create, patch and remove host objects with the border's precautions.
//
// A foreign object under our name is never adopted, changed or deleted: event, metric, retry. Deletes carry the uid.
// Blocking; worker threads only.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "syncer/border/border.h"
#include "syncer/translate/custom.h"

namespace sublet::syncer {

/// Whether an object of ours that the cache did not know of yet is good as it is.
using Keep = std::function<bool(const schema::Value& host_object)>;

/// Makes the host object as desired. `host_cached` is what the cache knows (null: nothing). `tenant_object` gets the
/// events.
Result<Requeue> apply_to_host(Border& border, const SyncedKind& kind, const kube::CachedPtr& host_cached,
                              schema::Document desired, const schema::Value& tenant_object, const Keep& keep = {});

/// Deletes a host object by uid; gone already is fine. `grace_seconds` for pods.
Outcome remove_from_host(Border& border, const kube::Resource& resource, const kube::CachedObject& host_object,
                         std::optional<int> grace_seconds = std::nullopt);

/// Names of the tenant's namespaces whose labels the selector accepts, sorted; none while they are not watched.
std::vector<std::string> namespaces_selected(const Border& border, const schema::Value& selector);

/// A name of the host that the tenant is not shown is none that its objects may use, whatever the tenant's API server
/// has let pass. Why one that uses it does not cross; "": it may. What the host's object (null: there is none) names
/// too is asked no more: it was shown once, or the host has chosen it.
std::string unshown_name(const Border& border, const SyncedKind& kind, const schema::Value& tenant_object,
                         const kube::CachedPtr& host_cached);
inline constexpr std::chrono::seconds kUnshownWait{300};  // it may be shown by then

/// Translates, with services' variables filled in for pods; a denial is reported on the tenant object and gives
/// nullopt.
std::optional<Translated> translate_for_host(Border& border, const SyncedKind& kind, const schema::Value& tenant_object,
                                             Operation operation);

}  // namespace sublet::syncer
