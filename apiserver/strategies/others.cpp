// Kinds with little of their own: what differs from the generic row, as one table.

#include <algorithm>
#include <iterator>
#include <string_view>

#include "apiserver/strategies/default_facts.h"
#include "apiserver/strategies/rows.h"
#include "apiserver/validation/admission_configs.h"
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
     "\"averageUtilization\":80}}}]"},
    {"spec.behavior?.scaleUp.stabilizationWindowSeconds", "0"},
    {"spec.behavior?.scaleUp.selectPolicy", "\"Max\""},
    {"spec.behavior?.scaleUp.policies",
     "[{\"type\":\"Pods\",\"value\":4,\"periodSeconds\":15},"
     "{\"type\":\"Percent\",\"value\":100,\"periodSeconds\":15}]"},
    {"spec.behavior?.scaleDown.selectPolicy", "\"Max\""},
    {"spec.behavior?.scaleDown.policies", "[{\"type\":\"Percent\",\"value\":100,\"periodSeconds\":15}]"}};
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

/// Of a device request, or of one of its alternatives.
void default_count(Value request) {
  if (request["allocationMode"].text().empty()) request.put("allocationMode", "ExactCount");
  if (request["allocationMode"].text() == "ExactCount" && request["count"].integer() == 0) request.put("count", 1);
}

void default_requests(const Value& claim_spec) {
  for (auto request : claim_spec["devices"]["requests"]) {
    if (const auto exactly = request["exactly"]; exactly.is_object()) default_count(exactly);
    for (auto alternative : request["firstAvailable"]) default_count(alternative);
  }
}
void default_claim(Value claim) { default_requests(claim["spec"]); }
void default_claim_template(Value claim_template) { default_requests(claim_template["spec"]["spec"]); }

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
  unsigned traits = 0;
  NameRule name_rule = NameRule::dns_subdomain;
  bool is(unsigned trait) const { return (traits & trait) != 0; }
};
constexpr unsigned kGeneration = 1;          // counts changes of what is wanted
constexpr unsigned kCreateOnUpdate = 2;      // a PUT makes what is not there
constexpr unsigned kUpdateNeedsVersion = 4;  // no PUT without a resourceVersion
constexpr unsigned kReturnsDeleted = 8;      // a DELETE answers with the object

constexpr std::string_view kAdmission = "admissionregistration.k8s.io", kStorage = "storage.k8s.io",
                           kNetworking = "networking.k8s.io", kFlow = "flowcontrol.apiserver.k8s.io";
constexpr KindFacts kKinds[] = {
    {"", "resourcequotas", nullptr, kReturnsDeleted},
    {"", "persistentvolumes", defaults_from<kPersistentVolume>, kReturnsDeleted},
    {"", "persistentvolumeclaims", defaults_from<kPersistentVolumeClaim>, kReturnsDeleted},
    {kStorage, "storageclasses", defaults_from<kStorageClass>, kReturnsDeleted},
    {kStorage, "csidrivers", defaults_from<kCsiDriver>, kUpdateNeedsVersion | kReturnsDeleted},
    {kStorage, "csinodes", nullptr, kUpdateNeedsVersion | kReturnsDeleted},
    {kStorage, "volumeattachments", nullptr, kUpdateNeedsVersion | kReturnsDeleted},
    {kStorage, "csistoragecapacities", nullptr, kUpdateNeedsVersion},
    {kStorage, "volumeattributesclasses", nullptr, kReturnsDeleted},
    {kNetworking, "ipaddresses", nullptr, 0, NameRule::ip_address},
    {kNetworking, "servicecidrs"},
    {"resource.k8s.io", "resourcepoolstatusrequests"},
    {kNetworking, "ingresses", nullptr, kGeneration},
    {kNetworking, "ingressclasses", defaults_from<kIngressClass>, kGeneration},
    {kNetworking, "networkpolicies", default_network_policy, kGeneration},
    {"policy", "poddisruptionbudgets", nullptr, kGeneration | kUpdateNeedsVersion},
    {"autoscaling", "horizontalpodautoscalers", defaults_from<kAutoscaler>},
    {"certificates.k8s.io", "clustertrustbundles", nullptr, kUpdateNeedsVersion},
    {"certificates.k8s.io", "podcertificaterequests", nullptr, kUpdateNeedsVersion},
    {"coordination.k8s.io", "leasecandidates", nullptr, kCreateOnUpdate | kUpdateNeedsVersion},
    {"resource.k8s.io", "resourceclaims", default_claim, kReturnsDeleted},
    {"resource.k8s.io", "resourceclaimtemplates", default_claim_template, kReturnsDeleted},
    {"resource.k8s.io", "resourceslices", nullptr, kGeneration | kReturnsDeleted},
    {"resource.k8s.io", "deviceclasses", nullptr, kGeneration | kReturnsDeleted},
    {"resource.k8s.io", "devicetaintrules", nullptr, kGeneration | kReturnsDeleted},
    {kFlow, "flowschemas", defaults_from<kFlowSchema>, kGeneration},
    {kFlow, "prioritylevelconfigurations", defaults_from<kPriorityLevel>, kGeneration},
    {kAdmission, "validatingwebhookconfigurations", defaults_from<kValidatingWebhook>,
     kGeneration | kUpdateNeedsVersion},
    {kAdmission, "mutatingwebhookconfigurations", defaults_from<kMutatingWebhook>, kGeneration | kUpdateNeedsVersion},
    {kAdmission, "validatingadmissionpolicies", defaults_from<kAdmissionPolicy>, kGeneration | kUpdateNeedsVersion},
    {kAdmission, "mutatingadmissionpolicies", defaults_from<kAdmissionPolicy>, kGeneration | kUpdateNeedsVersion},
    {kAdmission, "validatingadmissionpolicybindings", defaults_from<kPolicyBinding>, kGeneration | kUpdateNeedsVersion},
    {kAdmission, "mutatingadmissionpolicybindings", defaults_from<kPolicyBinding>, kGeneration | kUpdateNeedsVersion},
    {"internal.apiserver.k8s.io", "storageversions", nullptr, kUpdateNeedsVersion},
    {"storagemigration.k8s.io", "storageversionmigrations", nullptr, kUpdateNeedsVersion}};

struct ValidationFacts {
  std::string_view resource;
  void (*validate)(const Value& object, Causes& causes);
};
constexpr ValidationFacts kValidations[] = {{"validatingwebhookconfigurations", validate_validating_webhooks},
                                            {"mutatingwebhookconfigurations", validate_mutating_webhooks},
                                            {"validatingadmissionpolicies", validate_validating_policy},
                                            {"mutatingadmissionpolicies", validate_mutating_policy},
                                            {"validatingadmissionpolicybindings", validate_validating_binding},
                                            {"mutatingadmissionpolicybindings", validate_mutating_binding}};

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
  row.generation = facts.is(kGeneration);
  row.create_on_update = facts.is(kCreateOnUpdate);
  row.unconditional_update = !facts.is(kUpdateNeedsVersion);
  row.delete_returns_object = facts.is(kReturnsDeleted);
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
    for (const ValidationFacts& facts : kValidations)
      if (row.resource == facts.resource) row.validate = facts.validate;
  }
  return rows;
}

}  // namespace sublet::apiserver
