// AuthenticationForm: the members that a file of kind AuthenticationConfiguration may have, and their types;
// authentication_configuration.h validates their values. Pure. Source: k8s.io/apiserver/pkg/apis/apiserver (types of
// v1).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "sublet/base/status.h"
#include "sublet/schema/engine.h"

namespace sublet::apiserver {

/// bad_request: another kind, a member of a wrong form, or, in the words of upstream's strict decoding, one that is
/// unknown or duplicate.
Outcome check_authentication_form(const schema::Value& root, const schema::ParseNotes& notes);

/// "jwt[0].issuer": a member, or an entry, of what is at `path`.
std::string field_path(const std::string& path, std::string_view member);
std::string field_path(const std::string& path, std::size_t index);

}  // namespace sublet::apiserver
