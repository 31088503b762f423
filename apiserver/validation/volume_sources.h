// Volume sources: what is wrong with where a volume's data are (a pod's volume, a PersistentVolume), and with the spec
// of a claim for one, wherever it occurs (a PersistentVolumeClaim, a StatefulSet's or a pod's claim template). Pure.
#pragma once

#include <string>
#include <string_view>

#include "apiserver/validation/field_errors.h"

namespace sublet::apiserver {

enum class VolumeHolder { pod, persistent_volume };

/// Whose source it is.
struct HeldVolume {
  VolumeHolder holder;
  std::string_view name;
  std::string_view path = {};  // of the pod's volume
};

/// `member`: the source's field in the volume, which may be reported under another name in `path`.
void validate_volume_source(Causes& causes, const std::string& path, const schema::Value& source,
                            std::string_view member, const HeldVolume& volume);
void validate_csi_driver_name(Causes& causes, const std::string& field, std::string_view name);

inline constexpr std::string_view kVolumeModes[] = {"Block", "Filesystem"};

/// `words`: the error when there are none.
void validate_access_modes(Causes& causes, const std::string& field, const schema::Value& modes,
                           std::string_view words);
/// `known_group`: a group that was stored once is not judged again.
void validate_claim_spec(Causes& causes, const std::string& path, const schema::Value& spec, bool known_group = false);
/// A claim that is made for its holder: nothing but labels and annotations beside the spec.
void validate_claim_template(Causes& causes, const std::string& path, const schema::Value& claim);
/// Of the metadata of what is made for its holder, all but labels and annotations is refused.
void validate_template_meta(Causes& causes, const std::string& path, const schema::Value& metadata);

}  // namespace sublet::apiserver
