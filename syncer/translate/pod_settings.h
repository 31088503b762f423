// PodSettings at the border: what sync.toHost.pods of a template makes of every host pod. Pure.
#pragma once

#include "syncer/translate/translation.h"

namespace sublet::syncer {

/// After the rows, before the template's patches; tells `after_patch` of each key that changed something.
void apply_pod_settings(const Translation& translation, schema::Value host_pod);

}  // namespace sublet::syncer
