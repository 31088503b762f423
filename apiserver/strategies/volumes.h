// Volumes: what is wrong with the spec of a PersistentVolume, wherever one stands (a VolumeAttachment's inline volume).
// Pure. Internal to strategies/.
#pragma once

#include <string>
#include <string_view>

#include "apiserver/validation/field_errors.h"

namespace sublet::apiserver {

/// `inline_volume`: in a VolumeAttachment, which may say less.
void validate_volume_spec(Causes& causes, const std::string& path, const schema::Value& spec, std::string_view name,
                          bool inline_volume);

}  // namespace sublet::apiserver
