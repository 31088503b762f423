// Validation of custom resources by their schema, in upstream's order and words (kube-openapi's validator, and
// apiextensions-apiserver's listtype and objectmeta). Pure; any thread.
//
// Ratcheting: what did not change and can be found again in the old object is not complained of.
#pragma once

#include <string>
#include <vector>

#include "apiserver/structural/prune.h"
#include "sublet/base/status.h"

namespace sublet::apiserver {

/// Types, ranges, patterns, required members, choices. `old` missing: nothing is ratcheted. `prefix` is put before the
/// fields of the causes, not in their words (a status is judged on its own).
void validate_schema(const schema::Value& value, const schema::Value& old, const Schema& schema,
                     const std::string& prefix, std::vector<Cause>& causes);
/// Items of sets and maps are unique.
void validate_lists(const schema::Value& value, const Schema& schema, const std::string& path,
                    std::vector<Cause>& causes);
/// Kind, apiVersion and metadata of embedded resources; of the object itself when it is one.
void validate_embedded(const schema::Value& value, const Schema& schema, Root root, const std::string& path,
                       std::vector<Cause>& causes);
/// Whether causes speak of types, lengths, choices and what is missing, so that rules have nothing to work on.
bool blocks_rules(const std::vector<Cause>& causes);

/// The formats that a schema may name for strings; others are not checked. `format` as it is spelt.
bool known_format(JsonType type, std::string_view format);
bool has_format(std::string_view format, std::string_view value);

/// As an error shows it, with the path of the whole object.
inline constexpr std::string_view kNoField = "<nil>";

}  // namespace sublet::apiserver
