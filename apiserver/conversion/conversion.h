// Conversion: served versions whose JSON differs from the stored version, as pairs of in-place functions.
//
// Most versions have the stored shape and no entry here. events.k8s.io/v1 is the stored core/v1 Event under other
// field names. Pure; any thread.
#pragma once

#include <span>
#include <string_view>

#include "sublet/schema/document.h"
#include "sublet/schema/table.h"

namespace sublet::apiserver {

struct FieldAlias {
  std::string_view served, stored;  // field-selector labels
};

struct Conversion {
  std::string_view group, version, resource;
  void (*from_storage)(schema::Value object);
  void (*to_storage)(schema::Value object);
  std::span<const FieldAlias> field_aliases;
};

/// Null when the served version has the stored shape.
const Conversion* conversion_of(const schema::ResourceFacts& served);

/// The resource's facts in its storage version (the served one itself when it is stored as it is).
const schema::ResourceFacts& storage_facts(const schema::ResourceFacts& served);

}  // namespace sublet::apiserver
