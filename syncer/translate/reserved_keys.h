// ReservedKeys: labels and annotations that decide privileges or belong to host components. A tenant's value never
// crosses; those marked host_owned may not come from a template either. Pure data; any thread.
#pragma once

#include <span>
#include <string_view>

namespace sublet::syncer {

struct KeyRow {
  std::string_view key;  // exact, or a prefix when it ends in '/' or '*'
  bool label, annotation;
  bool host_owned;  // stripped again after patches
};
std::span<const KeyRow> reserved_keys();
bool reserved_label(std::string_view key, bool after_patches);
bool reserved_annotation(std::string_view key, bool after_patches);

}  // namespace sublet::syncer
