// The kinds that the schema fuzzers try: those with the most different fields.
#pragma once

#include <cstdint>
#include <cstdlib>

#include "sublet/schema/engine.h"
#include "sublet/schema/registry.h"

namespace sublet::schema {

/// A kind chosen by the input's first byte.
inline Type fuzzed_type(std::uint8_t choice) {
  struct Kind {
    const char *group, *version, *name;
  };
  static constexpr Kind kKinds[] = {
      {"", "v1", "Pod"},
      {"", "v1", "ConfigMap"},
      {"", "v1", "Secret"},
      {"", "v1", "Event"},
      {"", "v1", "List"},
      {"apps", "v1", "Deployment"},
      {"apps", "v1", "ControllerRevision"},
      {"authentication.k8s.io", "v1", "TokenReview"},
      {"apiextensions.k8s.io", "v1", "CustomResourceDefinition"},
      {"coordination.k8s.io", "v1", "Lease"},
      {"resource.k8s.io", "v1", "ResourceSlice"},
  };
  const Kind& kind = kKinds[choice % (sizeof kKinds / sizeof kKinds[0])];
  return Registry::builtin()->find_kind(kind.group, kind.version, kind.name);
}

/// Fuzzers stop at the first broken promise.
inline void promise(bool kept) {
  if (!kept) std::abort();
}

/// A conformed document: conform changes nothing more, and protobuf carries all of it.
inline void check_conformed(const Document& document, Type type) {
  const std::string json = document.to_json();
  auto again = decode_json(json, type);
  promise(again && again->to_json() == json);
  std::vector<Cause> causes;
  validate_structure(document.root(), type, "", causes);
  const auto carried = decode_protobuf(encode_protobuf(document.root(), type), type);
  promise(bool(carried));
  apply_table_defaults(again->root(), type);
}

}  // namespace sublet::schema
