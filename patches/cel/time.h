// Times: texts, range and calendar of timestamps and durations.
#pragma once

#include "sublet/patches/cel_value.h"

namespace sublet::patches::cel {

/// The error "timestamp overflow" outside of the years 1 to 9999.
Value timestamp_in_range(Timestamp moment);

}  // namespace sublet::patches::cel
