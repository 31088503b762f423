// Who may do what, and what watches over it: bindings, certificates, webhooks, admission policies, API services.
#include "apiserver/printers/cells.h"
#include "apiserver/printers/families.h"
#include "apiserver/request/api_groups.h"
#include "sublet/kube/conditions.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

constexpr Column kBindingColumns[] = {
    kNameColumn,
    {"Role", "string", "", "Role that is given"},
    kAgeColumn,
    {"Users", "string", "", "Users who have the role", 1},
    {"Groups", "string", "", "Groups that have the role", 1},
    {"ServiceAccounts", "string", "", "Service accounts that have the role", 1},
};

std::string subjects_of(const Value& subjects, std::string_view kind) {
  std::vector<std::string> parts;
  for (Value subject : subjects) {
    if (subject["kind"].text() != kind) continue;
    std::string name = subject["name"].string();
    parts.push_back(kind == "ServiceAccount" ? subject["namespace"].string() + "/" + name : name);
  }
  return join(parts, ", ");
}

void binding_cells(const Value& object, WallTime now, Value row) {
  Value role = object["roleRef"];
  Cells cells(object, now, row);
  cells.name().text(role["kind"].string() + "/" + role["name"].string()).age();
  for (std::string_view kind : {"User", "Group", "ServiceAccount"}) cells.text(subjects_of(object["subjects"], kind));
}

constexpr Column kCsrColumns[] = {
    kNameColumn,
    kAgeColumn,
    {"SignerName", "string", "", "Signer that is asked"},
    {"Requestor", "string", "", "User who asks"},
    {"RequestedDuration", "string", "", "How long the certificate should be valid"},
    {"Condition", "string", "", "What became of the request"},
};

std::string csr_condition(const Value& status) {
  auto has = [&](std::string_view type) { return bool(kube::find_condition(status["conditions"], type)); };
  std::string made = has("Denied") ? "Denied" : has("Approved") ? "Approved" : "Pending";
  if (has("Failed")) made += ",Failed";
  if (!status["certificate"].text().empty()) made += ",Issued";
  return made;
}

void csr_cells(const Value& object, WallTime now, Value row) {
  Value spec = object["spec"], seconds = spec["expirationSeconds"];
  Cells cells(object, now, row);
  cells.name().age().text_or(spec["signerName"].text(), kNone).text(spec["username"].text());
  cells.text(seconds.is_integer() ? human_duration(std::chrono::seconds(seconds.integer())) : std::string(kNone));
  cells.text(csr_condition(object["status"]));
}

constexpr Column kTrustBundleColumns[] = {kNameColumn, {"SignerName", "string", "", "Signer that it belongs to"}};

void trust_bundle_cells(const Value& object, WallTime now, Value row) {
  Cells(object, now, row).name().text_or(object["spec"]["signerName"].text(), kNone);
}

constexpr Column kWebhookColumns[] = {kNameColumn, {"Webhooks", "integer", "", "Number of webhooks"}, kAgeColumn};

void webhook_cells(const Value& object, WallTime now, Value row) {
  Cells(object, now, row).name().number(static_cast<std::int64_t>(object["webhooks"].size())).age();
}

constexpr Column kValidatingPolicyColumns[] = {
    kNameColumn,
    {"Validations", "integer", "", "Number of rules"},
    {"ParamKind", "string", "", "Kind of its parameters"},
    kAgeColumn,
};
constexpr Column kMutatingPolicyColumns[] = {
    kNameColumn,
    {"Mutations", "integer", "", "Number of changes"},
    {"ParamKind", "string", "", "Kind of its parameters"},
    kAgeColumn,
};

std::string param_kind(const Value& kind) {
  return kind.is_object() ? kind["apiVersion"].string() + "/" + kind["kind"].string() : std::string(kUnset);
}

template <bool mutating>
void admission_policy_cells(const Value& object, WallTime now, Value row) {
  Value spec = object["spec"];
  std::size_t rules = spec[mutating ? "mutations" : "validations"].size();
  Cells cells(object, now, row);
  cells.name().number(static_cast<std::int64_t>(rules)).text(param_kind(spec["paramKind"])).age();
}

constexpr Column kPolicyBindingColumns[] = {
    kNameColumn,
    {"PolicyName", "string", "", "Policy that is bound"},
    {"ParamRef", "string", "", "Parameters of the policy"},
    kAgeColumn,
};

/// Go's rendering of a LabelSelector struct, which upstream shows as it is.
std::string selector_struct(const Value& selector) {
  std::string made = "&LabelSelector{MatchLabels:map[string]string{";
  for (Value label : selector["matchLabels"]) made += std::string(label.key()) + ": " + label.string() + ",";
  made += "},MatchExpressions:[]LabelSelectorRequirement{";
  for (Value expression : selector["matchExpressions"])
    made += "LabelSelectorRequirement{Key:" + expression["key"].string() +
            ",Operator:" + expression["operator"].string() + ",Values:[" + join(texts_of(expression["values"]), " ") +
            "],},";
  return made + "},}";
}

std::string param_ref(const Value& reference) {
  if (!reference.is_object()) return std::string(kUnset);
  if (!reference["name"].text().empty()) {
    std::string scope = reference["namespace"].string();
    return (scope.empty() ? "*" : scope) + "/" + reference["name"].string();
  }
  return reference["selector"].is_object() ? selector_struct(reference["selector"]) : std::string(kUnset);
}

void policy_binding_cells(const Value& object, WallTime now, Value row) {
  Value spec = object["spec"];
  Cells(object, now, row).name().text(spec["policyName"].text()).text(param_ref(spec["paramRef"])).age();
}

constexpr Column kApiServiceColumns[] = {
    kNameColumn,
    {"Service", "string", "", "Service that answers for the group version"},
    {"Available", "string", "", "Whether it can be reached"},
    kAgeColumn,
};

std::string availability(const Value& status) {
  Value condition = kube::find_condition(status["conditions"], "Available");
  if (!condition) return "Unknown";
  std::string made = condition["status"].string();
  if (made != "True" && !condition["reason"].text().empty()) made += " (" + condition["reason"].string() + ")";
  return made;
}

void api_service_cells(const Value& object, WallTime now, Value row) {
  Value service = object["spec"]["service"];
  Cells cells(object, now, row);
  cells.name();
  cells.text(service.is_object() ? service["namespace"].string() + "/" + service["name"].string() : "Local");
  cells.text(availability(object["status"])).age();
}

constexpr Printer kAccessPrinters[] = {
    {kRbacGroup, "rolebindings", kBindingColumns, binding_cells},
    {kRbacGroup, "clusterrolebindings", kBindingColumns, binding_cells},
    {"certificates.k8s.io", "certificatesigningrequests", kCsrColumns, csr_cells},
    {"certificates.k8s.io", "clustertrustbundles", kTrustBundleColumns, trust_bundle_cells},
    {kAdmissionRegistrationGroup, "mutatingwebhookconfigurations", kWebhookColumns, webhook_cells},
    {kAdmissionRegistrationGroup, "validatingwebhookconfigurations", kWebhookColumns, webhook_cells},
    {kAdmissionRegistrationGroup, "validatingadmissionpolicies", kValidatingPolicyColumns,
     admission_policy_cells<false>},
    {kAdmissionRegistrationGroup, "mutatingadmissionpolicies", kMutatingPolicyColumns, admission_policy_cells<true>},
    {kAdmissionRegistrationGroup, "validatingadmissionpolicybindings", kPolicyBindingColumns, policy_binding_cells},
    {kAdmissionRegistrationGroup, "mutatingadmissionpolicybindings", kPolicyBindingColumns, policy_binding_cells},
    {"apiregistration.k8s.io", "apiservices", kApiServiceColumns, api_service_cells},
};

}  // namespace

std::span<const Printer> access_printers() { return kAccessPrinters; }

}  // namespace sublet::apiserver
