// apiregistration.k8s.io APIService: its name says its group and version, and who serves it is somewhere else or here.

#include "apiserver/strategies/kind_facts.h"
#include "apiserver/validation/names.h"
#include "sublet/schema/engine.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

constexpr std::int64_t kGroupPriorityMax = 20000, kVersionPriorityMax = 1000;

constexpr DefaultFact kApiServiceDefaults[] = {{"spec.service?.port", "443"}};

void validate_service_reference(Causes& causes, const Value& spec) {
  constexpr static FieldRule kRules[] = {{"service.namespace", must_be_set}, {"service.name", must_be_set}};
  const auto insecure = spec["insecureSkipTLSVerify"];
  std::size_t bundle_bytes = 0;
  if (const auto bundle = schema::base64_decode(spec["caBundle"].text())) bundle_bytes = bundle->size();
  if (!spec.has("service")) {
    if (bundle_bytes > 0)
      invalid(causes, "spec.caBundle", std::to_string(bundle_bytes) + " bytes",
              "local APIServices may not have a caBundle");
    if (insecure.boolean())
      invalid(causes, "spec.insecureSkipTLSVerify", insecure, "local APIServices may not have insecureSkipTLSVerify");
    return;
  }
  check_rules(causes, "spec", spec, kRules);
  const auto port = spec["service"]["port"].integer();
  for (const auto& message : port_number(port))
    invalid(causes, "spec.service.port", port, "port is not valid: " + message);
  if (insecure.boolean() && bundle_bytes > 0)
    invalid(causes, "spec.insecureSkipTLSVerify", insecure, "may not be true if caBundle is present");
}

void validate_api_service(const Value& object, Causes& causes) {
  const auto spec = object["spec"];
  const auto group = spec["group"].text(), version = spec["version"].text(), name = object["metadata"]["name"].text();
  const auto wanted = std::string(version) + "." + std::string(group);
  if (!name.empty() && path_segment_name(name).empty() && name != wanted)
    invalid(causes, "metadata.name", name, "must be `spec.version+\".\"+spec.group`: " + BadValue(wanted).text());
  if (group.empty() && version != "v1")
    required(causes, "spec.group", "only v1 may have an empty group and it better be legacy kube");
  if (!group.empty()) invalid_each(causes, "spec.group", group, dns1123_subdomain(group));
  invalid_each(causes, "spec.version", version, dns1035_label(version));
  const auto in_order = [&](std::string_view field, std::int64_t most) {
    const auto value = spec[field].integer();
    if (value <= 0 || value > most)
      invalid(causes, child("spec", field), value, "must be positive and less than " + std::to_string(most));
  };
  in_order("groupPriorityMinimum", kGroupPriorityMax);
  in_order("versionPriority", kVersionPriorityMax);
  validate_service_reference(causes, spec);
}

void validate_api_service_status(const Value& object, const Value&, Causes& causes) {
  constexpr static std::string_view kStatuses[] = {"True", "False", "Unknown"};
  constexpr static FieldRule kRules[] = {choice_of("status.conditions[].status", kStatuses)};
  check_rules(causes, "", object, kRules);
}

constexpr KindFacts kApiServiceFacts = {"apiregistration.k8s.io",
                                        "apiservices",
                                        defaults_from<kApiServiceDefaults>,
                                        kUpdateNeedsVersion | kSealsMetadata | kAnyFinalizer,
                                        NameRule::path_segment,
                                        validate_api_service,
                                        nullptr,
                                        validate_api_service_status};

}  // namespace

Strategy api_service_strategy() { return row_of(kApiServiceFacts); }

}  // namespace sublet::apiserver
