// ObjectKey: makes and parses the store's keys, by the facts of a resource. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

#include "sublet/schema/table.h"

namespace sublet::apiserver {

/// "pods/default/x", "deployments.apps/default/x", "nodes/x": the store's key. Storage group, plural resource.
std::string object_key(const schema::ResourceFacts& resource, std::string_view namespace_name, std::string_view name);
/// All objects of the resource, or those of one namespace; ends with '/'.
std::string key_prefix(const schema::ResourceFacts& resource, std::string_view namespace_name);
/// The last part of a key.
std::string_view name_of_key(std::string_view key);
/// The namespace part of a namespaced resource's key.
std::string_view namespace_of_key(std::string_view key);

/// "v1", "apps/v1".
std::string api_version(std::string_view group, std::string_view version);

}  // namespace sublet::apiserver
