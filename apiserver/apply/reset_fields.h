// ResetFields: fields that no manager can own through an endpoint, because a write there does not change them; a column
// of the Registry. What upstream's strategies say by GetResetFields().
//
// Most kinds follow the rule: status is not the main endpoint's, spec is not /status's. Immutable; any thread.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "sublet/patches/field_set.h"
#include "sublet/schema/table.h"

namespace sublet::apiserver {

struct ResetFields {
  std::map<std::string, patches::FieldSet, std::less<>> by_subresource;  // "": the main endpoint

  /// Empty where everything can be owned.
  const patches::FieldSet& of(std::string_view subresource) const;
  static const ResetFields* row_of(const schema::ResourceFacts& facts);
};

}  // namespace sublet::apiserver
