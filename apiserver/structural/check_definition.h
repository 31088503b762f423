// What is wrong with a CustomResourceDefinition, in upstream's words (apiextensions-apiserver's validation). Pure; any
// thread. Defaults have been set.
//
// Paths are those of upstream's internal form: what all versions share is at spec.validation,
// spec.subresources, spec.additionalPrinterColumns.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "apiserver/structural/schema.h"
#include "sublet/base/status.h"
#include "sublet/schema/document.h"

namespace sublet::apiserver {

/// `old` missing: it is made. metadata but its name is judged elsewhere.
void check_definition(const schema::Value& object, const schema::Value& old, std::vector<Cause>& causes);
/// What a writer of /status may put there as names.
void check_accepted_names(const schema::Value& object, std::vector<Cause>& causes);
/// Formats of a schema that are not checked.
std::vector<std::string> unrecognized_formats(const schema::Value& object);

/// A schema that is not structural; sorted. `path` is the schema's.
void check_structural(const schema::Value& props, const std::string& path, std::vector<Cause>& causes);
/// Defaults that the schema itself would refuse.
void check_defaults(const schema::Value& props, const Schema& schema, const std::string& path,
                    std::vector<Cause>& causes);

/// metadata.annotations of a definition in a group of the Kubernetes community.
struct Approval {
  enum class State { unprotected, missing, invalid, bypassed, approved } state;
  std::string reason;
};
inline constexpr std::string_view kApprovedAnnotation = "api-approved.kubernetes.io";
Approval approval_of(const schema::Value& object);

}  // namespace sublet::apiserver
