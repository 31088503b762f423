// Kinds with little of their own: what differs from the generic row, as one table.

#include <string_view>

#include "apiserver/request/api_groups.h"
#include "apiserver/strategies/kind_facts.h"
#include "apiserver/validation/admission_configs.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

constexpr DefaultFact kValidatingWebhook[] = {{"webhooks[].failurePolicy", "\"Fail\""},
                                              {"webhooks[].matchPolicy", "\"Equivalent\""},
                                              {"webhooks[].namespaceSelector", "{}"},
                                              {"webhooks[].objectSelector", "{}"},
                                              {"webhooks[].timeoutSeconds", "10"},
                                              {"webhooks[].rules[].scope", "\"*\"", {}, {}, false, true},
                                              {"webhooks[].clientConfig.service?.port", "443"}};
constexpr DefaultFact kMutatingWebhook[] = {{"webhooks[].failurePolicy", "\"Fail\""},
                                            {"webhooks[].matchPolicy", "\"Equivalent\""},
                                            {"webhooks[].namespaceSelector", "{}"},
                                            {"webhooks[].objectSelector", "{}"},
                                            {"webhooks[].timeoutSeconds", "10"},
                                            {"webhooks[].reinvocationPolicy", "\"Never\"", {}, {}, false, true},
                                            {"webhooks[].rules[].scope", "\"*\"", {}, {}, false, true},
                                            {"webhooks[].clientConfig.service?.port", "443"}};
constexpr DefaultFact kAdmissionPolicy[] = {
    {"spec.failurePolicy", "\"Fail\""},
    {"spec.matchConstraints?.matchPolicy", "\"Equivalent\""},
    {"spec.matchConstraints?.namespaceSelector", "{}"},
    {"spec.matchConstraints?.objectSelector", "{}"},
    {"spec.matchConstraints?.resourceRules[].scope", "\"*\"", {}, {}, false, true},
    {"spec.matchConstraints?.excludeResourceRules[].scope", "\"*\"", {}, {}, false, true}};
constexpr DefaultFact kPolicyBinding[] = {
    {"spec.matchResources?.matchPolicy", "\"Equivalent\""},
    {"spec.matchResources?.namespaceSelector", "{}"},
    {"spec.matchResources?.objectSelector", "{}"},
    {"spec.matchResources?.resourceRules[].scope", "\"*\"", {}, {}, false, true},
    {"spec.matchResources?.excludeResourceRules[].scope", "\"*\"", {}, {}, false, true}};
// --- ControllerRevision ---

constexpr FieldRule kRevisionRules[] = {{"revision", is_nonnegative}};
constexpr std::string_view kRevisionKept[] = {"data"};

void validate_revision(const Value& object, Causes& causes) { check_rules(causes, "", object, kRevisionRules); }

void validate_revision_create(const Value& object, Causes& causes) {
  const auto data = object["data"];
  if (!data || data.is_null())
    required(causes, "data", "data is mandatory");
  else if (!data.is_object())
    required(causes, "data", "data must be a valid JSON object");
}

void validate_policy_status(const Value& object, const Value&, Causes& causes) {
  validate_conditions(causes, "status.conditions", object["status"]["conditions"]);
}

constexpr unsigned kAdmissionTraits = kGeneration | kUpdateNeedsVersion | kAnyFinalizer;
constexpr NameRule kSubdomainRule = NameRule::dns_subdomain;
constexpr KindFacts kOtherKinds[] = {
    {"apps", "controllerrevisions", nullptr, 0, kSubdomainRule, validate_revision, kept<kRevisionKept>, nullptr,
     validate_revision_create},
    {"resource.k8s.io", "resourcepoolstatusrequests", nullptr, kSealsMetadata},
    {"certificates.k8s.io", "clustertrustbundles", nullptr, kUpdateNeedsVersion},
    {"certificates.k8s.io", "podcertificaterequests", nullptr, kUpdateNeedsVersion | kSealsMetadata},
    {"coordination.k8s.io", "leasecandidates", nullptr, kCreateOnUpdate | kUpdateNeedsVersion},
    {kAdmissionRegistrationGroup, "validatingwebhookconfigurations", defaults_from<kValidatingWebhook>,
     kAdmissionTraits, kSubdomainRule, validate_validating_webhooks},
    {kAdmissionRegistrationGroup, "mutatingwebhookconfigurations", defaults_from<kMutatingWebhook>, kAdmissionTraits,
     kSubdomainRule, validate_mutating_webhooks},
    {kAdmissionRegistrationGroup, "validatingadmissionpolicies", defaults_from<kAdmissionPolicy>,
     kAdmissionTraits | kSealsMetadata, kSubdomainRule, validate_validating_policy, nullptr, validate_policy_status},
    {kAdmissionRegistrationGroup, "mutatingadmissionpolicies", defaults_from<kAdmissionPolicy>, kAdmissionTraits,
     kSubdomainRule, validate_mutating_policy},
    {kAdmissionRegistrationGroup, "validatingadmissionpolicybindings", defaults_from<kPolicyBinding>, kAdmissionTraits,
     kSubdomainRule, validate_validating_binding},
    {kAdmissionRegistrationGroup, "mutatingadmissionpolicybindings", defaults_from<kPolicyBinding>, kAdmissionTraits,
     kSubdomainRule, validate_mutating_binding},
    {"internal.apiserver.k8s.io", "storageversions", nullptr, kUpdateNeedsVersion | kSealsMetadata},
    {"storagemigration.k8s.io", "storageversionmigrations", nullptr, kUpdateNeedsVersion | kSealsMetadata}};

}  // namespace

std::vector<Strategy> other_strategies() {
  std::vector<Strategy> rows;
  for (const auto& facts : kOtherKinds) rows.push_back(row_of(facts));
  return rows;
}

}  // namespace sublet::apiserver
