// TenantWords: what the host says to people, in the names that the tenant knows.
//
// Blocking never; any thread.
#pragma once

#include <string>
#include <string_view>

#include "syncer/border.h"

namespace sublet::syncer {

/// Replaces every host name of one of this tenant's objects in the text, with the host namespace before it, by the
/// tenant's. Other words stay.
std::string in_tenant_words(const Border& border, std::string_view text);

}  // namespace sublet::syncer
