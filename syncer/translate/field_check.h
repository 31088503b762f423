// FieldCheck: compares the border's field table with the schema, down to the leaves.
//
// Each problem is a sentence that names the type and the field. An empty answer means: every field of every type in the
// table has exactly one row, no row lets a whole struct cross unseen, and every type is led into from a kind.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sublet/schema/registry.h"
#include "syncer/translate/field_table.h"

namespace sublet::syncer {

/// `roots` are the types that nothing has to lead into.
std::vector<std::string> check_fields(const schema::Registry& kinds, std::span<const TypeRows> types,
                                      std::span<const std::string_view> roots);
/// The border's own table.
std::vector<std::string> check_field_table(const schema::Registry& kinds);

}  // namespace sublet::syncer
