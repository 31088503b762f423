// Conversion: served versions whose JSON differs from the stored version, as pairs of in-place functions; a column of
// the Registry.
//
// Most versions have the stored shape and no entry here. events.k8s.io/v1 is the stored core/v1 Event under other
// field names; autoscaling/v1 has less of a HorizontalPodAutoscaler than the stored v2 (autoscaler.h). Pure; any
// thread.
#pragma once

#include <span>
#include <string_view>

#include "apiserver/request/route.h"
#include "sublet/base/hook.h"
#include "sublet/schema/document.h"

namespace sublet::apiserver {

struct FieldAlias {
  std::string_view served, stored;  // field-selector labels
};

struct Conversion {
  std::string_view group, version, resource;
  Hook<void(schema::Value object)> from_storage;
  Hook<void(schema::Value object)> to_storage;
  std::span<const FieldAlias> field_aliases;

  /// Null when the served version has the stored shape.
  static const Conversion* row_of(const schema::ResourceFacts& served);
};

/// Null when the route's version has the stored shape.
inline const Conversion* conversion_of(const Route& route) { return route.kinds->entry<Conversion>(*route.served); }

}  // namespace sublet::apiserver
