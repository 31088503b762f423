// Warnings: what upstream warns of when an object is created or updated (WarningsOnCreate and WarningsOnUpdate of its
// strategies, and the warnings.go of its API packages, v1.36), in upstream's words. Pure; any thread.
//
// The object has passed validation, and has its defaults.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sublet/schema/document.h"

namespace sublet::apiserver {

using Warnings = std::vector<std::string>;

/// `old` is missing for a create. Group and resource are those of the storage form; `subresource` is of an update.
Warnings warnings_of(std::string_view group, std::string_view resource, std::string_view subresource,
                     const schema::Value& object, const schema::Value& old);

/// Of a pod, or of a pod template at `path` ("spec.template"; "" for a pod). `template_` has metadata and spec.
void warn_of_pod(const std::string& path, const schema::Value& template_, Warnings& warnings);
/// Of a PersistentVolumeClaimSpec at `path`.
void warn_of_claim_spec(const std::string& path, const schema::Value& spec, Warnings& warnings);
/// Of a NodeSelectorTerm at `path`; `check_values`: label values that no node can have.
void warn_of_node_selector_term(const std::string& path, const schema::Value& term, bool check_values,
                                Warnings& warnings);
/// Of an IP address, and of a CIDR range.
void warn_of_address(const std::string& path, std::string_view text, Warnings& warnings);
void warn_of_range(const std::string& path, std::string_view text, Warnings& warnings);
/// "": the node label is not deprecated.
std::string_view deprecated_node_label(std::string_view label);
/// Warns of an amount of bytes that is no whole number.
void warn_of_fraction(const std::string& path, const schema::Value& quantity, Warnings& warnings);

}  // namespace sublet::apiserver
