// ReservedKeys: labels and annotations of which a tenant's value never crosses, whatever a template allows. Pure data;
// any thread.
#pragma once

#include <string_view>

namespace sublet::syncer {

/// What host components record on the host's objects: no tenant writes it there, and no template.
bool written_by_host(std::string_view key);
/// Of those, what tenants are shown on their own pods (runai-gpu-group): it comes back, and never goes down again.
bool shown_to_tenants(std::string_view key);
/// Sublet's own keys: sublet.dev/... and <part>.sublet.dev/...
bool of_sublet(std::string_view key);
/// Of those, annotations that a volume of the pod names for a fact of the tenant's.
inline constexpr std::string_view kFactPrefix = "sublet.dev/fact-";

}  // namespace sublet::syncer
