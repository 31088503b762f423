// Routes: per served resource what every request of it needs, looked up once per process.
//
// Built on first use from the schema table; immutable afterwards. Any thread.
#pragma once

#include <string>
#include <string_view>

#include "apiserver/conversion/conversion.h"
#include "apiserver/strategies/strategy.h"
#include "sublet/schema/table.h"

namespace sublet::apiserver {

struct Route {
  const schema::ResourceFacts* served = nullptr;
  const schema::ResourceFacts* storage = nullptr;
  const Strategy* strategy = nullptr;
  const Conversion* conversion = nullptr;  // null: served as stored
  std::string type_prefix;                 // {"kind":"Pod","apiVersion":"v1",
  std::string group_resource;              // "pods", "deployments.apps": messages
  std::string storage_resource;            // the same in storage form: keys

  schema::Type type() const { return schema::Type(served->type); }
  schema::Type storage_type() const { return schema::Type(storage->type); }
};

/// Null: no such resource.
const Route* find_route(std::string_view group, std::string_view version, std::string_view resource);
/// Whether the resource's table lists this verb ("list"); for a subresource its own verbs.
bool allows_verb(const Route& route, std::string_view subresource, std::string_view verb);
const schema::SubresourceFacts* find_subresource(const Route& route, std::string_view name);

}  // namespace sublet::apiserver
