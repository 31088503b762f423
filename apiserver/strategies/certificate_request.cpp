// CertificateSigningRequest: the request itself is immutable; approvers write Approved or Denied through /approval, a
// signer writes the certificate through /status.
#include <algorithm>
#include <iterator>
#include <set>

#include "apiserver/request/text_list.h"
#include "apiserver/strategies/rows.h"
#include "apiserver/validation/certificates.h"
#include "apiserver/validation/field_errors.h"
#include "sublet/schema/engine.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

constexpr std::string_view kRequestConditionsPath = "status.conditions";
constexpr std::string_view kLegacySigner = "kubernetes.io/legacy-unknown";
constexpr int kSecondsMin = 600;
// Sorted, as upstream lists them when it refuses another.
constexpr std::string_view kUsages[] = {"any",
                                        "cert sign",
                                        "client auth",
                                        "code signing",
                                        "content commitment",
                                        "crl sign",
                                        "data encipherment",
                                        "decipher only",
                                        "digital signature",
                                        "email protection",
                                        "encipher only",
                                        "ipsec end system",
                                        "ipsec tunnel",
                                        "ipsec user",
                                        "key agreement",
                                        "key encipherment",
                                        "microsoft sgc",
                                        "netscape sgc",
                                        "ocsp signing",
                                        "s/mime",
                                        "server auth",
                                        "signing",
                                        "timestamping"};
constexpr std::string_view kApproved = "Approved", kDenied = "Denied", kFailed = "Failed";
constexpr std::string_view kDecisions[] = {kApproved, kDenied}, kFinal[] = {kApproved, kDenied, kFailed};

std::string decoded_bytes(const Value& bytes) { return schema::base64_decode(bytes.text()).value_or(""); }

std::vector<Value> conditions_of(const Value& object, std::string_view type) {
  std::vector<Value> found;
  for (auto condition : object["status"]["conditions"])
    if (condition["type"].text() == type) found.push_back(condition);
  return found;
}

/// The request carries who made it, whatever was sent.
Outcome prepare_certificate_create(WriteContext& context, Value object) {
  object.erase("status");
  auto spec = object.object("spec");
  for (auto field : {"username", "uid", "groups", "extra"}) spec.erase(field);
  if (!context.user.name.empty()) spec.put("username", context.user.name);
  if (!context.user.uid.empty()) spec.put("uid", context.user.uid);
  for (const auto& group : context.user.groups) spec.array("groups").push(group);
  for (const auto& [key, values] : context.user.extra)
    for (const auto& value : values) spec.object("extra").array(key).push(value);
  return {};
}

Outcome prepare_certificate_update(WriteContext& context, Value object, const Value& old) {
  copy_field(object, old, "spec");
  return keep_status(context, object, old);
}

/// A condition without times gets them; one whose status stays keeps the time of its last transition.
void stamp_conditions(const WriteContext& context, Value object, const Value& old) {
  const auto now = format_time(context.clock.now());
  for (auto condition : object["status"]["conditions"]) {
    default_text(condition, "lastUpdateTime", now);
    auto before = now;
    for (auto known : conditions_of(old, condition["type"].text()))
      if (known["status"].text() == condition["status"].text() && !known["lastTransitionTime"].text().empty()) {
        before = known["lastTransitionTime"].string();
        break;
      }
    default_text(condition, "lastTransitionTime", before);
  }
}

Outcome prepare_certificate_status(WriteContext& context, Value object, const Value& old) {
  copy_field(object, old, "spec");
  for (auto type : kDecisions) {
    auto now = conditions_of(object, type), before = conditions_of(old, type);
    if (now.size() != before.size()) continue;  // validation says so
    for (std::size_t i = 0; i < now.size(); ++i) now[i].set(before[i]);
  }
  stamp_conditions(context, object, old);
  return {};
}

Outcome prepare_approval(WriteContext& context, Value object, const Value& old) {
  copy_field(object, old, "spec");
  stamp_conditions(context, object, old);
  auto sent = schema::Document::copy_of(object["status"]);
  if (old.has("status"))
    object.put("status", old["status"]);
  else
    object.erase("status");
  copy_field(object.object("status"), sent.root(), "conditions");
  return {};
}

void validate_usages(Causes& causes, const Value& usages) {
  if (usages.empty()) required(causes, "spec.usages");
  std::size_t index = 0;
  for (auto usage : usages)
    if (const auto at = item("spec.usages", index++); !contains_text(kUsages, usage.text()))
      not_supported(causes, at, usage.text(), kUsages);
  std::set<std::string_view> seen;
  index = 0;
  for (auto usage : usages)
    if (const auto at = item("spec.usages", index++); !seen.insert(usage.text()).second)
      duplicate(causes, at, usage.text());
}

void validate_condition_status(Causes& causes, const std::string& at, const Value& condition) {
  constexpr std::string_view kAll[] = {"False", "True", "Unknown"}, kTrue[] = {"True"};
  const auto status = condition["status"].text();
  if (status.empty()) return required(causes, at);
  const bool is_final = contains_text(kFinal, condition["type"].text());
  if (is_final && status != "True") not_supported(causes, at, status, kTrue);
  if (!is_final && !contains_text(kAll, status)) not_supported(causes, at, status, kAll);
}

void validate_request_conditions(Causes& causes, const Value& conditions) {
  std::set<std::string_view> seen;
  std::size_t index = 0;
  for (auto condition : conditions) {
    const auto at = item(std::string(kRequestConditionsPath), index++);
    const auto type = condition["type"].text();
    if (type.empty()) required(causes, child(at, "type"));
    validate_condition_status(causes, child(at, "status"), condition);
    if ((type == kApproved && seen.count(kDenied)) || (type == kDenied && seen.count(kApproved)))
      invalid(causes, std::string(kRequestConditionsPath), type,
              "Approved and Denied conditions are mutually exclusive");
    if (!seen.insert(type).second) duplicate(causes, child(at, "type"), type);
  }
}

void validate_certificate_request(const Value& object, Causes& causes) {
  auto spec = object["spec"];
  const auto shown = spec["request"].is_string() ? BadValue(spec["request"]) : BadValue::raw("null");
  if (const auto wrong = check_certificate_request(decoded_bytes(spec["request"])); !wrong.empty())
    invalid(causes, "spec.request", shown, wrong);
  validate_usages(causes, spec["usages"]);
  if (spec["signerName"].text() == kLegacySigner)
    invalid(causes, "spec.signerName", kLegacySigner, "the legacy signerName is not allowed via this API version");
  else
    validate_signer_name(causes, "spec.signerName", spec["signerName"].text());
  if (auto seconds = spec["expirationSeconds"]; seconds && seconds.integer() < kSecondsMin)
    invalid(causes, "spec.expirationSeconds", seconds.integer(),
            "may not specify a duration less than 600 seconds (10 minutes)");
  validate_request_conditions(causes, object["status"]["conditions"]);
}

void forbid_condition(Causes& causes, std::string_view verb, std::string_view type) {
  forbidden(causes, std::string(kRequestConditionsPath),
            "updates may not " + std::string(verb) + " a condition of type \"" + std::string(type) + "\"");
}

void validate_approval(const Value& object, const Value& old, Causes& causes) {
  for (auto type : kFinal)
    if (conditions_of(object, type).size() < conditions_of(old, type).size()) forbid_condition(causes, "remove", type);
}

void validate_certificate_status(const Value& object, const Value& old, Causes& causes) {
  validate_approval(object, old, causes);
  for (auto type : kDecisions)
    if (conditions_of(object, type).size() > conditions_of(old, type).size()) forbid_condition(causes, "add", type);
  const auto certificate = decoded_bytes(object["status"]["certificate"]),
             before = decoded_bytes(old["status"]["certificate"]);
  if (certificate == before) return;
  if (const auto wrong = check_certificate_chain(certificate); !wrong.empty())
    invalid(causes, "status.certificate", "<certificate data>", wrong);
  if (!before.empty()) forbidden(causes, "status.certificate", "updates may not modify existing certificate content");
}

}  // namespace

Strategy certificate_request_strategy() {
  Strategy row;
  row.group = "certificates.k8s.io";
  row.resource = "certificatesigningrequests";
  row.name_rule = NameRule::path_segment;
  row.prepare_create = prepare_certificate_create;
  row.prepare_update = prepare_certificate_update;
  row.prepare_status_update = prepare_certificate_status;
  row.validate = validate_certificate_request;
  row.validate_status_update = validate_certificate_status;
  row.views = {{"approval", prepare_approval, validate_approval}};
  row.selectable_fields = {{"spec.signerName", "spec.signerName"}};
  return row;
}

}  // namespace sublet::apiserver
