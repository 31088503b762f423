// LastApplied: kubectl's last-applied annotation, for objects that move from client-side to server-side apply. Pure;
// any thread.
#pragma once

#include <optional>
#include <string_view>

#include "sublet/patches/managers.h"

namespace sublet::apiserver {

/// The manager that all this is for: others never used the annotation.
inline constexpr std::string_view kKubectl = "kubectl";

/// The fields that the annotation names and that still are as it says. nullopt: there is no annotation of this version
/// that can be read.
std::optional<patches::FieldSet> last_applied_fields(const patches::TypedObject& live);
/// Brings the annotation, if there is one, up to what is applied now.
void update_last_applied(schema::Value metadata, const schema::Value& config);

}  // namespace sublet::apiserver
