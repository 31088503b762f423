// Texts of the host (events, refusals, conditions) with the names that the tenant knows, and no others (host_text.h).
//
// Never blocks. Threads: any.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "syncer/border/border.h"

namespace sublet::syncer {

/// Returns the tenant object of a host object; nullopt if it is not of this virtual cluster, or is no longer known.
std::optional<TenantIdentity> tenant_of(Border& border, const KindSides& sides, const std::string& host_name);

/// Returns a host text about the tenant object `about`, which is `host_name` on the host, as the tenant may read it.
/// `container_output`: the text holds output of the tenant's own container, in which names of nodes stay.
std::string text_for_tenant(Border& border, std::string_view text, std::string_view host_name,
                            const TenantIdentity& about, bool container_output = false);

}  // namespace sublet::syncer
