// format(): the clauses of a format string, for running them and for checking a literal one against its arguments.
#pragma once

#include "patches/cel/ast.h"
#include "patches/cel/functions.h"

namespace sublet::patches::cel {

Value format_text(std::string_view form, const List& items, Meter& meter);
/// The complaints about a literal format with a literal list, by the types of its items.
std::vector<Problem> check_format(const Node& call);

}  // namespace sublet::patches::cel
