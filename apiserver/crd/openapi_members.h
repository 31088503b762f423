// A custom resource's schema as OpenAPI says it, descriptions included (upstream's controller/openapi/builder). Pure.
#pragma once

#include "apiserver/discovery/json_writer.h"
#include "apiserver/discovery/openapi_schemas.h"
#include "sublet/schema/document.h"

namespace sublet::apiserver {

/// The members of the definition; `props` missing: an object of which nothing is known.
void write_openapi_members(JsonWriter& json, const schema::Value& props, OpenApiDialect dialect);

}  // namespace sublet::apiserver
