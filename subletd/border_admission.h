// BorderAdmission: plugs the border into a tenant's API server. Pure; any thread.
#pragma once

#include <vector>

#include "sublet/apiserver/options.h"
#include "sublet/syncer/translate.h"

namespace sublet::subletd {

/// The border's translation: what the syncer would refuse is refused at admission, with the same reasons, before
/// anything is stored.
apiserver::BorderAdmission border_admission(syncer::TranslateContext context);
/// What the syncer brings from the host, and would put back.
std::vector<apiserver::CarriedKind> carried_to_host(const syncer::TranslateContext& context);
std::vector<apiserver::MirroredKind> mirrored_from_host(const syncer::TranslateContext& context);

}  // namespace sublet::subletd
