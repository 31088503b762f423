// The host pod that the gateway tests ask about.
#pragma once

#include <string_view>

namespace sublet::syncer {

/// A host pod that belongs to the virtual cluster "vc-uid" and to the tenant's pod "pod-uid".
inline constexpr std::string_view kOwnHostPod =
    R"({"metadata":{"labels":{"sublet.dev/virtual-cluster-uid":"vc-uid"},"annotations":{"sublet.dev/tenant-uid":"pod-uid"}}})";

}  // namespace sublet::syncer
