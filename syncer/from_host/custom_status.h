// The status of a custom resource on the host in the tenant's words: names of the tenant's objects are the tenant's
// again, in a value of their own as in a text, the host namespace is the object's, and what counts the host object's
// changes counts the tenant's.
#pragma once

#include "syncer/border/border.h"

namespace sublet::syncer {

/// The tenant's `status` as it should be.
schema::Document custom_status(Border& border, const schema::Value& host_object, const schema::Value& tenant_object);

}  // namespace sublet::syncer
