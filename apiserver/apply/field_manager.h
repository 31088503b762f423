// FieldManager: keeps metadata.managedFields for one endpoint, and merges what is applied there; upstream's
// k8s.io/apimachinery managedfields.FieldManager with all its layers.
//
// A create, update or patch is an update: what it changes becomes the writer's. It is looked at before admission, as
// upstream does, so fields that admission and the server change have no manager. An object whose managedFields were
// cleared, or that comes from before they were kept, is not tracked until it is applied to. Pure but for the clock
// handed in. Threads: any; made for one request.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "apiserver/apply/managed.h"
#include "apiserver/apply/reset_fields.h"
#include "sublet/schema/registry.h"

namespace sublet::apiserver {

/// What is managed at an endpoint: a resource in a version, or its Scale.
struct ManagedEndpoint {
  const schema::Registry& kinds;
  std::string_view group, version, kind;
  schema::Type type;
  std::string_view subresource;
  const schema::ResourceFacts* facts = nullptr;  // the resource; null: an object that has no other versions (Scale)
};

class FieldManager {
 public:
  explicit FieldManager(const ManagedEndpoint& endpoint);

  /// metadata.managedFields after a write that makes `object` of `live` (missing: a create); null: none. Both are in
  /// the endpoint's version. `object` loses its own managedFields.
  schema::Document update(const schema::Value& live, schema::Value object, std::string_view manager,
                          WallTime now) const;
  /// What `live` becomes when `config` is applied to it, managedFields included. `config` is as it was sent, by no
  /// type.
  Result<schema::Document> apply(schema::Document live, const schema::Value& config, std::string_view manager,
                                 bool force, WallTime now) const;
  /// The same for whatever there is to apply, and to an object that is missing (it is made): with all managers' sets.
  /// apply() has a shorter way for what most applies are.
  Result<schema::Document> apply_by_sets(const schema::Value& live, const schema::Value& config,
                                         std::string_view manager, bool force, WallTime now) const;

 private:
  class Work;
  const ManagedEndpoint endpoint_;
};

/// The manager of a write: what the query says, else the text before the first slash of the User-Agent.
std::string manager_name(std::string_view asked, std::string_view user_agent);

}  // namespace sublet::apiserver
