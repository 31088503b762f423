// Definition: what a CustomResourceDefinition (v1) says, read once. Plain data; any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sublet/schema/document.h"

namespace sublet::apiserver {

/// spec.names, and status.acceptedNames.
struct KindNames {
  std::string plural, singular, kind, list_kind;
  std::vector<std::string> short_names, categories;
  bool operator==(const KindNames&) const = default;

  static KindNames read(const schema::Value& names);
  /// As the object has it.
  void write(schema::Value names) const;
};

struct ColumnSpec {
  std::string name, type, format, description, path;
  int priority = 0;
};

/// Paths begin with a dot.
struct ScaleSpec {
  std::string spec_replicas, status_replicas, selector;  // selector: may be empty
};

struct DefinitionVersion {
  std::string name;
  bool served = false, storage = false, has_status = false;
  std::string warning;  // of a deprecated version, as its requests are answered; empty: none
  std::optional<ScaleSpec> scale;
  std::vector<ColumnSpec> columns;
  std::vector<std::string> selectable_paths;
};

struct Definition {
  std::string name, uid, group;  // name: "widgets.example.com"
  std::int64_t generation = 0;
  bool namespaced = true;
  KindNames names;
  std::vector<DefinitionVersion> versions;  // as they stand in the object
  bool by_webhook = false;                  // spec.conversion.strategy is Webhook

  static Definition read(const schema::Value& object);
  /// The version that is stored.
  const DefinitionVersion& stored() const;
};

/// The finalizer that holds a definition until its custom resources are gone.
inline constexpr std::string_view kCleanupFinalizer = "customresourcecleanup.apiextensions.k8s.io";

/// A version's schema in the object.
schema::Value schema_of(const schema::Value& object, std::string_view version);
/// Whether `a` comes before `b` where versions are listed: v2, v1, v1beta2, v1alpha1, then others by name.
bool version_before(std::string_view a, std::string_view b);

}  // namespace sublet::apiserver
