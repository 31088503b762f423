#include "apiserver/apply/scale_fields.h"

#include <algorithm>

namespace sublet::apiserver {
namespace {

using patches::FieldSet;
using patches::ManagedSet;
using patches::PathElement;

constexpr std::string_view kScaleVersion = "autoscaling/v1";

/// In the Scale.
const patches::Path& replicas() {
  static const patches::Path path{PathElement::field("spec"), PathElement::field("replicas")};
  return path;
}

patches::Path member_field_path(const std::vector<std::string>& names) {
  patches::Path path;
  for (const auto& name : names) path.push_back(PathElement::field(name));
  return path;
}

FieldSet only(const patches::Path& path) {
  FieldSet fields;
  fields.insert(path);
  return fields;
}

bool same_manager(const Manager& a, const Manager& b) {
  return a.name == b.name && a.operation == b.operation && a.subresource == b.subresource;
}

}  // namespace

ScaleFields::ScaleFields(const schema::Value& workload_fields, std::string version,
                         const std::vector<std::string>& replicas_path)
    : version_(std::move(version)), path_(member_field_path(replicas_path)) {
  if (auto managed = read_managed(workload_fields)) workload_ = std::move(*managed);
}

schema::Document ScaleFields::of_scale() const {
  Managed scale;
  for (const auto& [identifier, set] : workload_.sets) {
    if (!set.fields.has(path_)) continue;
    scale.sets[identifier] = {only(replicas()), std::string(kScaleVersion), set.applied};
    if (const auto time = workload_.times.find(identifier); time != workload_.times.end())
      scale.times[identifier] = time->second;
  }
  return write_managed(scale);
}

schema::Document ScaleFields::of_workload(const schema::Value& scale_fields) const {
  auto scale = read_managed(scale_fields);
  if (!scale) scale = Managed();
  Managed workload = workload_;
  for (auto entry = workload.sets.begin(); entry != workload.sets.end();) {
    ManagedSet& set = entry->second;
    if (set.fields.has(path_)) {
      const Manager manager = Manager::of(entry->first);
      const auto kept = std::ranges::find_if(
          scale->sets, [&manager](const auto& of_scale) { return same_manager(Manager::of(of_scale.first), manager); });
      if (kept == scale->sets.end())
        set.fields.subtract(only(path_));
      else
        scale->sets.erase(kept);
    }
    entry = set.fields.empty() ? workload.sets.erase(entry) : std::next(entry);
  }
  for (auto& [identifier, set] : scale->sets) {
    if (!set.fields.has(replicas())) continue;
    Manager manager = Manager::of(identifier);
    if (!set.applied) manager.api_version = version_;
    workload.sets[manager.identifier()].fields.unite(only(path_));
    workload.sets[manager.identifier()].version = version_;
    workload.sets[manager.identifier()].applied = set.applied;
  }
  return write_managed(workload);
}

}  // namespace sublet::apiserver
