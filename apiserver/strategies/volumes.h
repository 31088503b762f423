// Volumes: what is wrong with the spec of a PersistentVolume or a PersistentVolumeClaim, wherever one stands (a
// StatefulSet's claim templates, a VolumeAttachment's inline volume). Pure. Internal to strategies/.
#pragma once

#include <string>
#include <string_view>

#include "apiserver/validation/field_errors.h"

namespace sublet::apiserver {

/// `inline_volume`: in a VolumeAttachment, which may say less.
void validate_volume_spec(Causes& causes, const std::string& path, const schema::Value& spec, std::string_view name,
                          bool inline_volume);
/// `known_group`: a group that was stored once is not judged again.
void validate_claim_spec(Causes& causes, const std::string& path, const schema::Value& spec, bool known_group = false);
void validate_csi_driver_name(Causes& causes, const std::string& field, std::string_view name);

}  // namespace sublet::apiserver
