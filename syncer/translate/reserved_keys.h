// ReservedKeys: labels and annotations that decide privileges or belong to host components. A tenant's value never
// crosses; those that only the host writes may not come from a template either. Pure data; any thread.
#pragma once

#include <string_view>

namespace sublet::syncer {

/// `after_patches`: of what a template has written, only what is the host's own is reserved.
bool reserved_label(std::string_view key, bool after_patches);
bool reserved_annotation(std::string_view key, bool after_patches);

}  // namespace sublet::syncer
