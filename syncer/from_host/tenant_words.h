// TenantWords: what the host says to people (events, refusals), in the names that the tenant knows, and nobody else's.
//
// Blocking never; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "syncer/border/border.h"

namespace sublet::syncer {

/// Whose the host's object of that kind and name is; nullopt: not of this virtual cluster, or not known any more.
std::optional<TenantIdentity> tenant_of(Border& border, const KindSides& sides, const std::string& host_name);

/// A text about the tenant's object `about`, which is `host_name` on the host: that name becomes the tenant's as it
/// stands, every other object of the tenant's "namespace/name", and what is somebody else's is masked (host_text.h).
/// With what the tenant's own containers say in it, which knows no node, `own_words`: nodes' names stay.
std::string in_tenant_words(Border& border, std::string_view text, std::string_view host_name,
                            const TenantIdentity& about, bool own_words = false);

}  // namespace sublet::syncer
