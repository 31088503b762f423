// VersionFields: the selectable fields of one served version, where versions have their own (a custom resource's); a
// column of the Registry. Kinds without one have those of their Strategy in every version. Immutable; any thread.
#pragma once

#include <vector>

#include "apiserver/strategies/strategy.h"

namespace sublet::apiserver {

struct VersionFields {
  std::vector<SelectableField> fields = {};

  static const VersionFields* row_of(const schema::ResourceFacts&) { return nullptr; }
};

}  // namespace sublet::apiserver
