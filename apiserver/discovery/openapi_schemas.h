// Type definitions of the table as OpenAPI schemas, in both dialects.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "apiserver/discovery/host_texts.h"
#include "apiserver/discovery/json_writer.h"
#include "apiserver/discovery/openapi_paths.h"
#include "sublet/schema/registry.h"

namespace sublet::apiserver {

enum class OpenApiDialect { v2, v3 };

/// Names of definitions, each once, in order of name; follows what the types given refer to, scalars with a definition
/// of their own (Quantity, Time) included.
std::vector<std::string_view> reachable_definitions(const std::vector<schema::Type>& roots);

/// Writes the definition (the value only) of a name that reachable_definitions() gave, with a host's descriptions where
/// there are some. Those of custom resources are their maker's.
void write_definition(JsonWriter& json, const schema::Registry& kinds, std::string_view name, OpenApiDialect dialect,
                      const HostTexts* host = nullptr);

/// {"$ref": ...} in the dialect's place.
void write_reference(JsonWriter& json, std::string_view name, OpenApiDialect dialect);

/// The members that say what an operation does to which kind.
void write_what_it_does(JsonWriter& json, const ApiOperation& operation);

/// The definition of the body of a PATCH: any object.
inline constexpr std::string_view kPatchDefinition = "io.k8s.apimachinery.pkg.apis.meta.v1.Patch";
/// The definition of an object's metadata.
inline constexpr std::string_view kObjectMetaType = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

}  // namespace sublet::apiserver
