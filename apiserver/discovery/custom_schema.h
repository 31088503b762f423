// CustomSchema: OpenAPI schemas of a kind made at run time, provided by its maker; a column of the Registry.
//
// Schemas are read again for every document; nothing is held. Any thread.
#pragma once

#include <string>

#include "apiserver/discovery/json_writer.h"
#include "apiserver/discovery/openapi_schemas.h"

namespace sublet::apiserver {

class CustomSchema {
 public:
  virtual ~CustomSchema() = default;
  /// The members of the kind's definition but its x-kubernetes-group-version-kind.
  virtual void write_members(JsonWriter& json, OpenApiDialect dialect) const = 0;
  /// Changes with what write_members() writes.
  virtual std::string fingerprint() const = 0;
  static const CustomSchema* row_of(const schema::ResourceFacts&) { return nullptr; }
};

}  // namespace sublet::apiserver
