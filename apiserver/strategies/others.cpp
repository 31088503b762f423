// Kinds with little of their own: what differs from the generic row, as one table.

#include <algorithm>
#include <iterator>
#include <string_view>

#include "apiserver/strategies/default_facts.h"
#include "apiserver/strategies/rows.h"
#include "apiserver/validation/field_errors.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

constexpr DefaultFact kPersistentVolume[] = {{"status.phase", "\"Pending\""},
                                             {"spec.persistentVolumeReclaimPolicy", "\"Retain\""},
                                             {"spec.volumeMode", "\"Filesystem\""},
                                             {"spec.hostPath?.type", "\"\""}};
constexpr DefaultFact kPersistentVolumeClaim[] = {{"status.phase", "\"Pending\""},
                                                  {"spec.volumeMode", "\"Filesystem\""}};
constexpr DefaultFact kStorageClass[] = {{"reclaimPolicy", "\"Delete\""}, {"volumeBindingMode", "\"Immediate\""}};
constexpr DefaultFact kCsiDriver[] = {{"spec.attachRequired", "true"},
                                      {"spec.podInfoOnMount", "false"},
                                      {"spec.storageCapacity", "false"},
                                      {"spec.fsGroupPolicy", "\"ReadWriteOnceWithFSType\""},
                                      {"spec.volumeLifecycleModes", "[\"Persistent\"]"},
                                      {"spec.requiresRepublish", "false"},
                                      {"spec.seLinuxMount", "false"}};
constexpr DefaultFact kIngressClass[] = {{"spec?.parameters?.scope", "\"Cluster\""}};
constexpr DefaultFact kAutoscaler[] = {
    {"spec.minReplicas", "1"},
    {"spec.metrics",
     "[{\"type\":\"Resource\",\"resource\":{\"name\":\"cpu\",\"target\":{\"type\":\"Utilization\","
     "\"averageUtilization\":80}}}]"}};
constexpr DefaultFact kValidatingWebhook[] = {{"webhooks[].failurePolicy", "\"Fail\""},
                                              {"webhooks[].matchPolicy", "\"Equivalent\""},
                                              {"webhooks[].namespaceSelector", "{}"},
                                              {"webhooks[].objectSelector", "{}"},
                                              {"webhooks[].timeoutSeconds", "10"},
                                              {"webhooks[].rules[].scope", "\"*\""},
                                              {"webhooks[].clientConfig.service?.port", "443"}};
constexpr DefaultFact kMutatingWebhook[] = {
    {"webhooks[].failurePolicy", "\"Fail\""}, {"webhooks[].matchPolicy", "\"Equivalent\""},
    {"webhooks[].namespaceSelector", "{}"},   {"webhooks[].objectSelector", "{}"},
    {"webhooks[].timeoutSeconds", "10"},      {"webhooks[].reinvocationPolicy", "\"Never\""},
    {"webhooks[].rules[].scope", "\"*\""},    {"webhooks[].clientConfig.service?.port", "443"}};
constexpr DefaultFact kAdmissionPolicy[] = {{"spec.failurePolicy", "\"Fail\""},
                                            {"spec.matchConstraints?.matchPolicy", "\"Equivalent\""},
                                            {"spec.matchConstraints?.namespaceSelector", "{}"},
                                            {"spec.matchConstraints?.objectSelector", "{}"},
                                            {"spec.matchConstraints?.resourceRules[].scope", "\"*\""}};
constexpr DefaultFact kPolicyBinding[] = {{"spec.matchResources?.matchPolicy", "\"Equivalent\""},
                                          {"spec.matchResources?.namespaceSelector", "{}"},
                                          {"spec.matchResources?.objectSelector", "{}"}};
constexpr DefaultFact kFlowSchema[] = {{"spec.matchingPrecedence", "1000", {}, {}, true}};
constexpr DefaultFact kPriorityLevel[] = {
    {"spec.exempt?.nominalConcurrencyShares", "0"},
    {"spec.exempt?.lendablePercent", "0"},
    {"spec.limited?.nominalConcurrencyShares", "30"},
    {"spec.limited?.lendablePercent", "0"},
    {"spec.limited?.limitResponse?.queuing?.handSize", "8", {}, {}, true},
    {"spec.limited?.limitResponse?.queuing?.queues", "64", {}, {}, true},
    {"spec.limited?.limitResponse?.queuing?.queueLengthLimit", "50", {}, {}, true}};
constexpr std::string_view kRbacGroup = "rbac.authorization.k8s.io";

void default_binding(Value object) {
  default_text(object.object("roleRef"), "apiGroup", kRbacGroup);
  for (auto subject : object["subjects"])
    if (subject["kind"].text() == "User" || subject["kind"].text() == "Group")
      default_text(subject, "apiGroup", kRbacGroup);
}

void validate_role_ref_kept(const Value& object, const Value& old, Causes& causes) {
  if (!semantically_equal(object["roleRef"], old["roleRef"]))
    invalid(causes, "roleRef", object["roleRef"], "cannot change roleRef");
}

void default_network_policy(Value object) {
  auto spec = object.object("spec");
  if (spec["policyTypes"].empty()) {
    auto types = spec.array("policyTypes");
    types.push("Ingress");
    if (!spec["egress"].empty()) types.push("Egress");
  }
  for (auto list : {"ingress", "egress"})
    for (auto rule : spec[list])
      for (auto port : rule["ports"]) default_text(port, "protocol", "TCP");
}

Outcome pending_phase(WriteContext& context, Value object) {
  auto status = object.object("status");
  status.clear();
  status.put("phase", "Pending");
  if (!context.resource.namespaced) status.put("lastPhaseTransitionTime", format_time(context.clock.now()));
  return {};
}

struct KindFacts {
  std::string_view group, resource;
  void (*defaults)(Value) = nullptr;
  bool generation = false;
  bool create_on_update = false;
  bool unconditional_update = true;
  bool delete_returns_object = false;
  NameRule name_rule = NameRule::dns_subdomain;
};

constexpr NameRule kPathSegment = NameRule::path_segment;
constexpr std::string_view kAdmission = "admissionregistration.k8s.io", kStorage = "storage.k8s.io",
                           kNetworking = "networking.k8s.io", kFlow = "flowcontrol.apiserver.k8s.io";
// Columns: defaults, generation, create on update, update without resourceVersion, delete answers with the object.
constexpr KindFacts kKinds[] = {
    {"", "resourcequotas", nullptr, false, false, true, true},
    {"", "persistentvolumes", defaults_from<kPersistentVolume>, false, false, true, true},
    {"", "persistentvolumeclaims", defaults_from<kPersistentVolumeClaim>, false, false, true, true},
    {kStorage, "storageclasses", defaults_from<kStorageClass>, false, false, true, true},
    {kStorage, "csidrivers", defaults_from<kCsiDriver>, false, false, false, true},
    {kStorage, "csinodes", nullptr, false, false, false, true},
    {kStorage, "volumeattachments", nullptr, false, false, false, true},
    {kStorage, "csistoragecapacities", nullptr, false, false, false},
    {kStorage, "volumeattributesclasses", nullptr, false, false, true, true},
    {kNetworking, "ipaddresses", nullptr, false, false, true, false, NameRule::ip_address},
    {kNetworking, "servicecidrs"},
    {"resource.k8s.io", "resourcepoolstatusrequests"},
    {kNetworking, "ingresses", nullptr, true},
    {kNetworking, "ingressclasses", defaults_from<kIngressClass>, true},
    {kNetworking, "networkpolicies", default_network_policy, true},
    {"policy", "poddisruptionbudgets", nullptr, true, false, false},
    {"autoscaling", "horizontalpodautoscalers", defaults_from<kAutoscaler>},
    {kRbacGroup, "roles", nullptr, false, true, true, false, kPathSegment},
    {kRbacGroup, "clusterroles", nullptr, false, true, true, false, kPathSegment},
    {kRbacGroup, "rolebindings", default_binding, false, true, true, false, kPathSegment},
    {kRbacGroup, "clusterrolebindings", default_binding, false, true, true, false, kPathSegment},
    {"certificates.k8s.io", "clustertrustbundles", nullptr, false, false, false},
    {"certificates.k8s.io", "podcertificaterequests", nullptr, false, false, false},
    {"coordination.k8s.io", "leasecandidates", nullptr, false, true, false},
    {"resource.k8s.io", "resourceclaims", nullptr, false, false, true, true},
    {"resource.k8s.io", "resourceclaimtemplates", nullptr, false, false, true, true},
    {"resource.k8s.io", "resourceslices", nullptr, true, false, true, true},
    {"resource.k8s.io", "deviceclasses", nullptr, true, false, true, true},
    {"resource.k8s.io", "devicetaintrules", nullptr, true, false, true, true},
    {kFlow, "flowschemas", defaults_from<kFlowSchema>, true},
    {kFlow, "prioritylevelconfigurations", defaults_from<kPriorityLevel>, true},
    {kAdmission, "validatingwebhookconfigurations", defaults_from<kValidatingWebhook>, true, false, false},
    {kAdmission, "mutatingwebhookconfigurations", defaults_from<kMutatingWebhook>, true, false, false},
    {kAdmission, "validatingadmissionpolicies", defaults_from<kAdmissionPolicy>, true, false, false},
    {kAdmission, "mutatingadmissionpolicies", defaults_from<kAdmissionPolicy>, true, false, false},
    {kAdmission, "validatingadmissionpolicybindings", defaults_from<kPolicyBinding>, true, false, false},
    {kAdmission, "mutatingadmissionpolicybindings", defaults_from<kPolicyBinding>, true, false, false},
    {"internal.apiserver.k8s.io", "storageversions", nullptr, false, false, false},
    {"storagemigration.k8s.io", "storageversionmigrations", nullptr, false, false, false}};

/// Kinds whose /status changes no metadata.
constexpr std::string_view kSealedMetadata[] = {"devicetaintrules",
                                                "flowschemas",
                                                "podcertificaterequests",

                                                "prioritylevelconfigurations",
                                                "resourceclaims",
                                                "resourcepoolstatusrequests",
                                                "servicecidrs",
                                                "storageversionmigrations",
                                                "storageversions",
                                                "validatingadmissionpolicies",
                                                "volumeattachments"};

bool seals_metadata(std::string_view resource) {
  return std::find(std::begin(kSealedMetadata), std::end(kSealedMetadata), resource) != std::end(kSealedMetadata);
}

Strategy row_of(const KindFacts& facts) {
  Strategy row;
  row.group = facts.group;
  row.resource = facts.resource;
  row.name_rule = facts.name_rule;
  row.defaults = facts.defaults;
  row.generation = facts.generation;
  row.create_on_update = facts.create_on_update;
  row.unconditional_update = facts.unconditional_update;
  row.delete_returns_object = facts.delete_returns_object;
  row.prepare_create = drop_status;
  row.prepare_update = keep_status;
  row.prepare_status_update = seals_metadata(facts.resource) ? keep_all_but_status : keep_other_members;
  return row;
}

}  // namespace

std::vector<Strategy> other_strategies() {
  std::vector<Strategy> rows;
  for (const auto& facts : kKinds) rows.push_back(row_of(facts));
  for (auto& row : rows) {
    if (row.resource == "persistentvolumes" || row.resource == "persistentvolumeclaims")
      row.prepare_create = pending_phase;
    if (row.resource.ends_with("rolebindings")) row.validate_update = validate_role_ref_kept;
  }
  return rows;
}

}  // namespace sublet::apiserver
