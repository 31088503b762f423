// Volume match: which PersistentVolume suits a PersistentVolumeClaim. Shared by the controller
// that binds them, the syncer and the embedded host. Pure functions of documents. Source:
// k8s.io/component-helpers/storage/volume, pkg/controller/volume/persistentvolume/index.go of Kubernetes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sublet/schema/document.h"

namespace sublet::kube {

/// spec.storageClassName, or the annotation that came before it; "" for none.
std::string class_of(const schema::Value& claim_or_volume);
/// A class was asked for, be it "".
bool has_class(const schema::Value& claim);

/// Returns true when the pod of that uid is the claim's controller (upstream: VolumeIsForPod).
bool is_claim_of_pod(const schema::Value& claim, std::string_view pod_uid);

/// Whether the first of two lists of resources (a capacity, requests) has more storage.
bool has_more_storage(const schema::Value& resources, const schema::Value& than);

/// The volume names this claim: its uid too, where it has one.
bool is_claimed_by(const schema::Value& volume, const schema::Value& claim);
/// One is for a file system, the other a block device.
bool modes_differ(const schema::Value& volume, const schema::Value& claim);
/// Why the volume that the claim asks for by name does not suit; "" when it does.
std::string check_requested(const schema::Value& volume, const schema::Value& claim);

/// The smallest of those that suit, with as few access modes more than asked for as there are; one that was made for
/// the claim before all others. Missing when none suits; with `only_claimed` also when none was made for it.
schema::Value best_volume(const std::vector<schema::Value>& volumes, const schema::Value& claim, bool only_claimed);

}  // namespace sublet::kube
