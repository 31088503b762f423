// VolumeChoice: which of a tenant's own PersistentVolumes a claim gets, where they cross.
//
// On the host a volume names the one claim that it is for from the start, since one without could be given to anybody's
// claim there. So the choice falls in the tenant, by the rules of Kubernetes' binder, and stands in the volume's
// spec.claimRef before the volume crosses (volume_sync.cpp), and in the claim's spec.volumeName before the claim does:
// the host has nothing to choose, whichever of the two it sees first. A claim that is on the host already gets a volume
// that comes later by its claimRef alone, for the host may be about to give it another; its word is told back. A claim
// that no volume of the tenant's suits crosses as any other. Where volumes do not cross, nothing here does anything.
// Blocking; workers only, but for look_at_volumes_of() and claim_key_of().
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "syncer/border/border.h"

namespace sublet::syncer {

inline constexpr std::string_view kVolumeKind = "PersistentVolume", kClaimKind = "PersistentVolumeClaim";
inline constexpr const char* kVolumesByClaim = "claim";  // index of the tenant's volumes: claim_key_of()
inline constexpr std::string_view kBindCompleted = "pv.kubernetes.io/bind-completed",
                                  kBoundByController = "pv.kubernetes.io/bound-by-controller";
inline const kube::Resource kVolumes{"", "v1", "persistentvolumes"}, kClaims{"", "v1", "persistentvolumeclaims"};

/// Of the claim that a tenant's volume names: "<namespace>/<name>"; "": it names none that there could be.
std::string claim_key_of(const kube::CachedObject& tenant_volume);
/// Of a claim itself.
std::string claim_key(const kube::CachedObject& tenant_claim);

/// Chooses, and writes the choice into the tenant's volume. What comes is when the claim, which must not cross yet, is
/// to be looked at again; nullopt: it may cross as it is. `host_claim` null: the host has none yet.
Result<std::optional<Requeue>> choose_volume(Border& border, const SyncedKind& claims,
                                             const kube::CachedObject& tenant_claim, const kube::CachedPtr& host_claim);

/// Merges into the tenant's object, if it still is as it was looked at: else a conflict, or not_found.
Outcome patch_as_seen(Border& border, const kube::Resource& resource, const schema::Value& object,
                      schema::Document patch, std::string_view subresource = {});

/// Whether the claim has that volume of the tenant's on the host; what the host has made may be called the same. And
/// whether it has another there; neither, when it has none.
bool has_on_host(const Border& border, const kube::CachedObject& tenant_claim, std::string_view tenant_volume);
bool has_another_on_host(const Border& border, const kube::CachedObject& tenant_claim, std::string_view tenant_volume);

/// Whether the host has given it a volume, as far as the tenant's claim tells: without one on the host it is lost.
bool was_bound(const Border& border, const kube::CachedObject& tenant_claim);

/// Puts the volumes on the queue to which what becomes of the claim matters.
void look_at_volumes_of(Border& border, const kube::CachedObject& tenant_claim);

/// The tenant's volume that has that name on the host; "": it is none of the tenant's.
std::string own_volume_of(const Border& border, std::string_view host_volume);

}  // namespace sublet::syncer
