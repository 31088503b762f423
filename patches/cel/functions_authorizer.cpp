// The authorizer that admission policies ask: declared, so that expressions with it are checked; it answers an error
// until there are rights to ask about.
#include "patches/cel/functions.h"

namespace sublet::patches::cel {

namespace {

Value unavailable(Arguments, Meter&) { return Value::error("authorizer is not available"); }

constexpr Set A = Set::authorizer, S = Set::authorizer_selectors;

constexpr Overload kTable[] = {
    {"path", "authorizer_path", "authorizer.(string) -> path", unavailable, A},
    {"group", "authorizer_group", "authorizer.(string) -> group", unavailable, A},
    {"serviceAccount", "authorizer_serviceaccount", "authorizer.(string, string) -> authorizer", unavailable, A},
    {"resource", "groupcheck_resource", "group.(string) -> resource", unavailable, A},
    {"subresource", "resourcecheck_subresource", "resource.(string) -> resource", unavailable, A},
    {"namespace", "resourcecheck_namespace", "resource.(string) -> resource", unavailable, A},
    {"name", "resourcecheck_name", "resource.(string) -> resource", unavailable, A},
    {"fieldSelector", "authorizer_fieldselector", "resource.(string) -> resource", unavailable, S},
    {"labelSelector", "authorizer_labelselector", "resource.(string) -> resource", unavailable, S},
    {"check", "pathcheck_check", "path.(string) -> decision", unavailable, A},
    {"check", "resourcecheck_check", "resource.(string) -> decision", unavailable, A},
    {"errored", "decision_errored", "decision.() -> bool", unavailable, A},
    {"error", "decision_error", "decision.() -> string", unavailable, A},
    {"allowed", "decision_allowed", "decision.() -> bool", unavailable, A},
    {"reason", "decision_reason", "decision.() -> string", unavailable, A},
};

}  // namespace

std::span<const Overload> authorizer_table() { return kTable; }

}  // namespace sublet::patches::cel
