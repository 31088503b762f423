// MirroredKinds: the kinds of which a virtual cluster shows the host's own objects (nodes), so that its API server can
// refuse what the syncer would put back. Read off the table of synced kinds (syncer/synced_kinds.cpp). Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sublet/kube/client.h"
#include "sublet/syncer/translate.h"

namespace sublet::syncer {

/// On every object that the syncer brought from the host. A tenant's own objects of the same kinds are without it, and
/// left alone.
inline constexpr std::string_view kLabelFromHost = "sublet.dev/from-host";

struct MirroredKind {
  kube::Resource resource;
  std::string next_step;  // what a tenant that may not change them can do instead
};
/// Without those that the template switches off.
std::vector<MirroredKind> mirrored_kinds(const TranslateContext& context);

}  // namespace sublet::syncer
