// Scopes: which pods and claims a ResourceQuota with scopes is about. Internal to quota/; pure.
#pragma once

#include <string_view>

#include "sublet/schema/document.h"

namespace sublet::quota {

/// `requirement`: the one of a scopeSelector; missing: the scope stands in the quota's list.
bool is_pod_in_scope(std::string_view scope, const schema::Value& requirement, const schema::Value& pod);
bool is_claim_in_scope(std::string_view scope, const schema::Value& requirement, const schema::Value& claim);

/// It has a deadline.
bool is_terminating(const schema::Value& pod);
/// Requests or limits of the kinds that may be said of a pod as a whole are said of it.
bool has_own_resources(const schema::Value& pod_spec);
bool may_be_of_a_pod(std::string_view resource);

}  // namespace sublet::quota
