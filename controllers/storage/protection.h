// Protection: the finalizer by which a volume or a claim that is in use outlives its deletion.
//
// Blocks on the API. Threads: any.
#pragma once

#include "sublet/controllers/controller.h"

namespace sublet::controllers {

/// Puts the finalizer on; nothing when the object changed meanwhile, since that brings the next look.
Outcome add_finalizer(const kube::Client& client, const kube::Resource& resource, const store::Object& object,
                      std::string_view finalizer);
Outcome remove_finalizer(const kube::Client& client, const kube::Resource& resource, const store::Object& object,
                         std::string_view finalizer);

}  // namespace sublet::controllers
