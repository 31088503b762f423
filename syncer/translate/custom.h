// Custom resources at the border: what Kubernetes has no type for crosses whole, but for its metadata (the rows of
// ObjectMeta, as every kind's), the places that the template names (sublet/patches/custom_resources.h), and what no
// template may overlook: a namespace that nobody translates, and containers that nobody has judged. Pure; any thread.
#pragma once

#include "sublet/patches/custom_resources.h"
#include "syncer/translate/translation.h"

namespace sublet::syncer {

/// One that goes to the host, by its definition's name; null: the template lets none of that name cross.
const patches::CustomResource* find_custom(const TranslateContext& context, std::string_view name);

/// Returns true if the host serves the status of these objects at an endpoint of its own.
bool has_status_endpoint(const patches::CustomResource& resource, const TranslateContext& context);

/// `host` starts as a copy of the tenant's object.
void translate_custom(Translation& translation, const patches::CustomResource& resource, schema::Value host);

/// The objects of the host, by the tenant's object, that it names under the host's own names.
struct HostName {
  std::string kind, name, path;
};
std::vector<HostName> host_names_in(const patches::CustomResource& resource, const schema::Value& tenant_object);

/// What a tenant's pod says of custom resources that cross (CustomResource::pod_keys), in the host's names. After all
/// patches.
void name_in_pod(const Translation& translation, schema::Value host_pod);

/// The tenant's form of one that comes from the host.
schema::Document mirror_custom(const patches::CustomResource& resource, const schema::Value& host_object,
                               const TranslateContext& context);

/// The tenant's form of the host's definition: the one version that crosses, converted by nobody.
schema::Document mirror_definition(const schema::Value& host_definition, std::string_view version);

}  // namespace sublet::syncer
