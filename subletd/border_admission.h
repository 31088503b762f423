// BorderAdmission: plugs the border's translation into a tenant's API server, so that what the syncer would refuse is
// refused at admission, with the same reasons, before anything is stored. Pure; any thread.
#pragma once

#include "sublet/apiserver/options.h"
#include "sublet/syncer/translate.h"

namespace sublet::subletd {

apiserver::BorderAdmission border_admission(syncer::TranslateContext context);

}  // namespace sublet::subletd
