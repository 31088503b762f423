// Protection: the finalizer by which a volume or a claim that is in use outlives its deletion.
//
// Blocks on the API. Threads: any.
#pragma once

#include "sublet/controllers/controller.h"

namespace sublet::controllers {

bool has_finalizer(const store::Object& object, std::string_view finalizer);
/// Puts the finalizer on; nothing when the object changed meanwhile, since that brings the next look.
Outcome protect(const kube::Client& client, const kube::Resource& resource, const store::Object& object,
                std::string_view finalizer);
Outcome release(const kube::Client& client, const kube::Resource& resource, const store::Object& object,
                std::string_view finalizer);

}  // namespace sublet::controllers
