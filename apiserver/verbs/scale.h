// Scale: a workload's replica count as an object of its own (autoscaling/v1 Scale), which `kubectl scale` and
// autoscalers read and write without knowing the workload's kind. Internal to verbs/ and the pipeline.
#pragma once

#include "apiserver/verbs/verb.h"

namespace sublet::apiserver {

/// The stored workload's Scale in the form that the client asked for (object or Table). An Answer's view.
/// What the Scale of an object that has none is refused with.
Outcome check_scale(const RequestContext& context, const store::Object& workload);
std::string scale_json(const RequestContext& context, const store::Object& workload);

void update_scale(const ContextPtr& context);
void patch_scale(const ContextPtr& context);

}  // namespace sublet::apiserver
