// The built-in table: the generated facts of the pinned Kubernetes release. Outside of schema/ ask a Registry.
#pragma once

#include "sublet/schema/table.h"

namespace sublet::schema {

/// Static data: never destroyed.
const Table& builtin_table();
/// The type of any built-in kind, lists and meta kinds included.
Type builtin_kind(std::string_view group, std::string_view version, std::string_view kind);

}  // namespace sublet::schema
