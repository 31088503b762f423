// EarlierLabels: how host objects of an earlier version, on which labels stood under the tenant's own keys, come to the
// present keys without a moment in which a Service finds no pods: the pods get the present labels beside their old
// ones, then the Services ask for the present ones, then the pods lose the old ones. Worker threads.
#pragma once

#include <chrono>

#include "syncer/border/border.h"

namespace sublet::syncer {

enum class EarlierLabels {
  settled,  // nothing to take care of
  keep,     // a pod: its old labels stay for now
  wait,     // a Service: its pods do not have the present labels yet
};

EarlierLabels earlier_labels(Border& border, std::string_view kind, const schema::Value& host_object);
inline constexpr std::chrono::milliseconds kEarlierLabelsWait{1000};

}  // namespace sublet::syncer
