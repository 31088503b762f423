#include "apiserver/apply/reset_fields.h"

namespace sublet::apiserver {
namespace {

using patches::FieldSet;
using patches::PathElement;

struct ResetRow {
  std::string_view group, resource, subresource;
  std::string_view paths;  // parted by blanks
};

// Where upstream does not follow the rule (k8s.io/kubernetes pkg/registry, v1.36).
constexpr ResetRow kResetRows[] = {
    {"", "namespaces", "finalize", "status"},
    {"", "pods", "status", "spec metadata.deletionTimestamp metadata.ownerReferences"},
    {"admissionregistration.k8s.io", "validatingadmissionpolicies", "status", "metadata spec"},
    {"apps", "deployments", "status", "spec metadata.labels"},
    {"certificates.k8s.io", "certificatesigningrequests", "", "spec status"},
    {"certificates.k8s.io", "certificatesigningrequests", "status", "spec status.conditions"},
    {"certificates.k8s.io", "certificatesigningrequests", "approval", "spec status.certificate"},
    {"certificates.k8s.io", "podcertificaterequests", "", ""},
    {"flowcontrol.apiserver.k8s.io", "flowschemas", "status", "metadata spec"},
    {"flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations", "status", "metadata spec"},
    {"internal.apiserver.k8s.io", "storageversions", "status", "metadata spec"},
    {"networking.k8s.io", "servicecidrs", "status", "metadata spec"},
    {"resource.k8s.io", "devicetaintrules", "status", "metadata spec"},
    {"resource.k8s.io", "resourceclaims", "status", "metadata spec"},
    {"resource.k8s.io", "resourcepoolstatusrequests", "status", "metadata spec"},
    {"scheduling.k8s.io", "podgroups", "", ""},
    {"scheduling.k8s.io", "podgroups", "status", "metadata spec"},
    {"storage.k8s.io", "volumeattachments", "status", "metadata spec"},
    {"storagemigration.k8s.io", "storageversionmigrations", "status", "metadata spec"},
};

patches::Path dotted_field_path(std::string_view dotted) {
  patches::Path path;
  while (!dotted.empty()) {
    const auto end = dotted.find('.');
    path.push_back(PathElement::field(dotted.substr(0, end)));
    dotted = end == std::string_view::npos ? std::string_view() : dotted.substr(end + 1);
  }
  return path;
}

FieldSet fields_of_paths(std::string_view paths) {
  FieldSet fields;
  while (!paths.empty()) {
    const auto end = paths.find(' ');
    fields.insert(dotted_field_path(paths.substr(0, end)));
    paths = end == std::string_view::npos ? std::string_view() : paths.substr(end + 1);
  }
  return fields;
}

struct Rows {
  std::map<std::pair<std::string_view, std::string_view>, ResetFields> own;  // by group and resource
  ResetFields usual, none;

  Rows() {
    usual.by_subresource[""] = fields_of_paths("status");
    usual.by_subresource["status"] = fields_of_paths("spec");
    for (const ResetRow& row : kResetRows) {
      const auto [known, added] = own.try_emplace({row.group, row.resource}, usual);
      known->second.by_subresource[std::string(row.subresource)] = fields_of_paths(row.paths);
    }
  }
};

}  // namespace

const FieldSet& ResetFields::of(std::string_view subresource) const {
  static const FieldSet nothing;
  const auto known = by_subresource.find(subresource);
  return known == by_subresource.end() ? nothing : known->second;
}

const ResetFields* ResetFields::row_of(const schema::ResourceFacts& facts) {
  static const Rows rows;
  const auto known = rows.own.find({facts.group, facts.resource});
  if (known != rows.own.end()) return &known->second;
  return facts.has_status ? &rows.usual : &rows.none;
}

}  // namespace sublet::apiserver
