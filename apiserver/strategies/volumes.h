// Volumes: validation of the spec of a PersistentVolume, also of a VolumeAttachment's inline volume.
// Pure. Internal to strategies/.
#pragma once

#include <string>
#include <string_view>

#include "apiserver/validation/field_errors.h"

namespace sublet::apiserver {

/// `inline_volume`: in a VolumeAttachment, which may say less.
void validate_volume_spec(Causes& causes, const std::string& path, const schema::Value& spec, std::string_view name,
                          bool inline_volume);
/// A Strategy's `is_skipped`: what the schema asks of such a spec and upstream does not.
bool skips_volume_field(const schema::Value& object, std::string_view field);

}  // namespace sublet::apiserver
