// Object metadata: the rules that hold for every kind's metadata, with upstream's texts. Pure.
// Source of the rules: k8s.io/apimachinery/pkg/api/validation.
#pragma once

#include <vector>

#include "sublet/base/status.h"
#include "sublet/schema/document.h"

namespace sublet::apiserver {

/// How metadata.name is validated.
enum class NameRule { dns_subdomain, dns_label, dns1035_label, path_segment, ip_address };

/// Whether a finalizer must be one of Kubernetes' own or have a domain. Upstream asks that of its built-in kinds alone.
enum class FinalizerRule { known_or_qualified, any_name };

/// Generic metadata rules (name, labels, annotations, finalizers, owner references), with upstream's texts.
void validate_object_meta(const schema::Value& metadata, bool namespaced, NameRule rule, std::vector<Cause>& causes,
                          FinalizerRule finalizers = FinalizerRule::known_or_qualified);
void validate_object_meta_update(const schema::Value& metadata, const schema::Value& old_metadata,
                                 std::vector<Cause>& causes,
                                 FinalizerRule finalizers = FinalizerRule::known_or_qualified);

}  // namespace sublet::apiserver
