// MemberIndex, as patches use it.
#pragma once

#include "sublet/schema/member_index.h"

namespace sublet::patches {

using schema::MemberIndex;

}  // namespace sublet::patches
