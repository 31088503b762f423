// Pruning and defaulting of custom resources by their schema (upstream's packages pruning and defaulting).
// Documents are changed in place. Pure; any thread.
#pragma once

#include <string>
#include <vector>

#include "apiserver/structural/schema.h"

namespace sublet::apiserver {

/// Whether the object that a pass begins with is a resource: its kind, apiVersion and metadata are not the schema's.
enum class Root : unsigned char { resource, value };

/// Removes members that the schema does not know; their paths are added to `unknown`. Metadata of embedded resources
/// gets ObjectMeta's form.
void prune(schema::Value object, const Schema& schema, Root root, std::vector<std::string>* unknown = nullptr);
/// Takes away nulls that may not be and that no default replaces. What is decoded is freed of them; what an apply
/// merges is not, so validation tells who applied a null.
void drop_nulls(schema::Value object, const Schema& schema);
/// Sets the schema's defaults where nothing is, or a null that may not be.
void apply_schema_defaults(schema::Value object, const Schema& schema);

}  // namespace sublet::apiserver
