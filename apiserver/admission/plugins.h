// Plugins: what the admission plugins work on. A plugin is a function over one Attempt, in a file of its own; the rows
// of plugin_table.cpp say when it runs. Internal to admission/.
#pragma once

#include <functional>

#include "apiserver/admission/admission.h"
#include "apiserver/admission/reinvocation.h"

namespace sublet::apiserver {

/// One write that is being admitted.
struct Attempt {
  WriteContext& context;
  WriteVerb verb;
  schema::Value object;            // missing for remove; a subresource's own body (WriteVerb::subresource)
  const schema::Value& old;        // missing for create
  Reinvocation* rounds = nullptr;  // of mutating admission; null: one round without calls outside

  bool is(std::string_view group, std::string_view resource) const {
    return context.resource.group == group && context.resource.resource == resource && context.subresource.empty();
  }
  bool creates(std::string_view group, std::string_view resource) const {
    return verb == WriteVerb::create && is(group, resource);
  }
  /// The object's name; its generateName before a name is generated.
  std::string name() const;
  /// The object's spec, made when it is missing.
  schema::Value spec() const {
    auto target = object;
    return target.object("spec");
  }
  /// `pods "x" is forbidden: <why>`.
  tl::unexpected<Status> forbid(std::string_view why) const;
};

/// The row of a kind that comes from the host; null when it does not.
const MirroredKind* find_mirrored(const ServerOptions& options, std::string_view group, std::string_view resource);
/// The same of what is carried to the host.
const CarriedKind* find_carried(const ServerOptions& options, std::string_view group, std::string_view resource);

/// What the platform allows a whole virtual cluster: the ResourceQuotas and LimitRanges (`resource`) that the syncer
/// has brought into kube-system count in every other namespace too. The visitor says whether to go on.
bool has_platform_limits(const WriteContext& context, std::string_view resource);
void each_platform_limit(const WriteContext& context, std::string_view resource,
                         const std::function<bool(const store::ObjectPtr&, schema::Document)>& visit);

// Called by name, beside the plugins of the table (plugin_table.h).
Outcome namespace_lifecycle(const Attempt& attempt);
Outcome mutating_policies(const Attempt& attempt);    // MutatingAdmissionPolicy, of every verb
Outcome validating_policies(const Attempt& attempt);  // ValidatingAdmissionPolicy, of every verb

}  // namespace sublet::apiserver
