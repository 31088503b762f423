// resource.k8s.io: ResourceClaim, ResourceClaimTemplate, DeviceClass, ResourceSlice and DeviceTaintRule.

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "apiserver/strategies/kind_facts.h"
#include "apiserver/strategies/volumes.h"
#include "apiserver/validation/names.h"
#include "apiserver/validation/pod_spec.h"
#include "apiserver/validation/resources.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

constexpr std::string_view kGroup = "resource.k8s.io";
constexpr std::size_t kRequestsMax = 32, kConstraintsMax = 32, kConfigsMax = 32, kSelectorsMax = 32,
                      kAlternativesMax = 8, kParametersMax = 10 * 1024, kExpressionMax = 10 * 1024;

// --- what several kinds have ---

/// Of a device request, or of one of its alternatives.
void default_count(Value request) {
  if (request["allocationMode"].text().empty()) request.put("allocationMode", "ExactCount");
  if (request["allocationMode"].text() == "ExactCount" && request["count"].integer() == 0) request.put("count", 1);
  for (auto toleration : request["tolerations"]) default_text(toleration, "operator", "Equal");
}

void default_requests(const Value& claim_spec) {
  for (auto request : claim_spec["devices"]["requests"]) {
    if (const auto exactly = request["exactly"]; exactly.is_object()) default_count(exactly);
    for (auto alternative : request["firstAvailable"]) default_count(alternative);
  }
}
void default_claim(Value claim) { default_requests(claim["spec"]); }
void default_claim_template(Value claim_template) { default_requests(claim_template["spec"]["spec"]); }

/// false, and said, when there are more than may be; such a list is not looked into.
bool is_bounded(Causes& causes, const std::string& field, const Value& list, std::size_t most) {
  if (list.size() <= most) return true;
  too_many(causes, field, list.size(), most);
  return false;
}

void validate_selectors(Causes& causes, const std::string& path, const Value& selectors) {
  if (!is_bounded(causes, path, selectors, kSelectorsMax)) return;
  std::size_t index = 0;
  for (auto selector : selectors) {
    const auto at = child(item(path, index++), "cel");
    const auto expression = selector["cel"]["expression"].text();
    if (!selector.has("cel"))
      required(causes, at);
    else if (expression.size() > kExpressionMax)
      too_long(causes, child(at, "expression"), kExpressionMax);
  }
}

void validate_configuration(Causes& causes, const std::string& path, const Value& config) {
  const auto opaque = config["opaque"];
  const auto at = child(path, "opaque");
  if (!opaque) return required(causes, at);
  validate_csi_driver_name(causes, child(at, "driver"), opaque["driver"].text());
  const auto parameters = opaque["parameters"];
  const auto field = child(at, "parameters");
  if (!parameters || parameters.is_null())
    required(causes, field);
  else if (parameters.to_json().size() > kParametersMax)
    too_long(causes, field, kParametersMax);
  else if (!parameters.is_object())
    invalid(causes, field, "<value omitted>", "must be a valid JSON object");
}

// --- ResourceClaim ---

using RequestNames = std::map<std::string, std::set<std::string>, std::less<>>;

RequestNames request_names(const Value& devices) {
  RequestNames names;
  for (auto request : devices["requests"]) {
    auto& inner = names[request["name"].string()];
    for (auto alternative : request["firstAvailable"]) inner.insert(alternative["name"].string());
  }
  return names;
}

void validate_request_reference(Causes& causes, const std::string& field, std::string_view name,
                                const RequestNames& names) {
  constexpr std::string_view kWords =
      "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";
  const auto slash = name.find('/');
  if (slash != std::string_view::npos && name.find('/', slash + 1) != std::string_view::npos)
    return invalid(causes, field, name, kWords);
  const auto first = name.substr(0, slash);
  const auto second = slash == std::string_view::npos ? std::nullopt : std::optional(name.substr(slash + 1));
  invalid_each(causes, field, first, dns1123_label(first));
  if (second) invalid_each(causes, field, *second, dns1123_label(*second));
  const auto known = names.find(first);
  if (known == names.end() || (second && !known->second.contains(std::string(*second))))
    invalid(causes, field, name, kWords);
}

void validate_request_references(Causes& causes, const std::string& path, const Value& requests,
                                 const RequestNames& names) {
  if (!is_bounded(causes, path, requests, kRequestsMax)) return;
  std::set<std::string> seen;
  std::size_t index = 0;
  for (auto name : requests) {
    const auto at = item(path, index++);
    validate_request_reference(causes, at, name.text(), names);
    if (!seen.insert(name.string()).second) duplicate(causes, at, name.text());
  }
}

constexpr std::string_view kAllocationModes[] = {"All", "ExactCount"}, kTolerationOperators[] = {"Equal", "Exists"},
                           kTaintEffects[] = {"NoExecute", "NoSchedule", "None"};

void validate_toleration(Causes& causes, const std::string& path, const Value& toleration) {
  constexpr static FieldRule kRules[] = {optional_name("key", qualified_name)};
  check_rules(causes, path, toleration, kRules);
  const auto op = toleration["operator"].text(), value = toleration["value"].text(),
             effect = toleration["effect"].text();
  if (op == "Exists") {
    if (!value.empty()) invalid(causes, child(path, "value"), value, "must be empty for operator `Exists`");
  } else if (op == "Equal") {
    invalid_each(causes, child(path, "value"), value, label_value(value));
  } else if (op.empty()) {
    required(causes, child(path, "operator"));
  } else {
    not_supported(causes, child(path, "operator"), op, kTolerationOperators);
  }
  if (!effect.empty() && std::ranges::find(kTaintEffects, effect) == std::end(kTaintEffects))
    not_supported(causes, child(path, "effect"), effect, kTaintEffects);
}

/// Of an exact request, or of one of its alternatives.
void validate_wish(Causes& causes, const std::string& path, const Value& wish) {
  constexpr static FieldRule kRules[] = {required_name("deviceClassName", dns1123_subdomain)};
  check_rules(causes, path, wish, kRules);
  validate_selectors(causes, child(path, "selectors"), wish["selectors"]);
  const auto mode = wish["allocationMode"].text();
  const auto count = wish["count"].integer();
  if (mode == "All" && count != 0)
    invalid(causes, child(path, "count"), count, "must not be specified when allocationMode is 'All'");
  if (mode == "ExactCount" && count <= 0) invalid(causes, child(path, "count"), count, "must be greater than zero");
  if (std::ranges::find(kAllocationModes, mode) == std::end(kAllocationModes))
    not_supported(causes, child(path, "allocationMode"), mode, kAllocationModes);
  std::size_t index = 0;
  for (auto toleration : wish["tolerations"])
    validate_toleration(causes, item(child(path, "tolerations"), index++), toleration);
}

void validate_alternatives(Causes& causes, const std::string& path, const Value& alternatives) {
  if (!is_bounded(causes, path, alternatives, kAlternativesMax)) return;
  std::set<std::string> names;
  std::size_t index = 0;
  for (auto alternative : alternatives) {
    const auto at = item(path, index++);
    const auto name = alternative["name"].text();
    invalid_each(causes, child(at, "name"), name, dns1123_label(name));
    validate_wish(causes, at, alternative);
    if (!names.insert(std::string(name)).second) duplicate(causes, at, name);
  }
}

void validate_request(Causes& causes, const std::string& path, const Value& request) {
  const auto name = request["name"].text();
  invalid_each(causes, child(path, "name"), name, dns1123_label(name));
  const bool first = !request["firstAvailable"].empty(), exactly = request.has("exactly");
  if (!first && !exactly)
    required(causes, path, "exactly one of `exactly` or `firstAvailable` is required");
  else if (first && exactly)
    invalid(causes, path, BadValue::raw("null"),
            "exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set");
  else if (first)
    validate_alternatives(causes, child(path, "firstAvailable"), request["firstAvailable"]);
  else
    validate_wish(causes, child(path, "exactly"), request["exactly"]);
}

void validate_requests(Causes& causes, const std::string& path, const Value& requests) {
  if (!is_bounded(causes, path, requests, kRequestsMax)) return;
  std::set<std::string> names;
  std::size_t index = 0;
  for (auto request : requests) {
    const auto at = item(path, index++);
    validate_request(causes, at, request);
    if (!names.insert(request["name"].string()).second) duplicate(causes, at, request["name"].text());
  }
}

/// "domain/name" or a name alone.
void validate_attribute_name(Causes& causes, const std::string& field, std::string_view name) {
  constexpr int kIdMax = 32;
  const auto slash = name.find('/');
  if (slash != std::string_view::npos && name.find('/', slash + 1) != std::string_view::npos) return;
  const auto domain = slash == std::string_view::npos ? std::string_view() : name.substr(0, slash);
  const auto id = slash == std::string_view::npos ? name : name.substr(slash + 1);
  if (slash != std::string_view::npos) {
    if (domain.empty())
      invalid(causes, field, "", "the domain must not be empty");
    else
      validate_csi_driver_name(causes, field, domain);
    if (id.empty()) return invalid(causes, field, "", "the name must not be empty");
  }
  if (id.size() > kIdMax) too_long(causes, field, kIdMax);
  invalid_each(causes, field, id, c_identifier(id));
}

void validate_qualified_attribute(Causes& causes, const std::string& field, std::string_view name) {
  validate_attribute_name(causes, field, name);
  if (name.find('/') == std::string_view::npos)
    invalid(causes, field, name, "a fully qualified name must be a domain and a name separated by a slash");
}

void validate_constraints(Causes& causes, const std::string& path, const Value& constraints,
                          const RequestNames& names) {
  if (!is_bounded(causes, path, constraints, kConstraintsMax)) return;
  std::size_t index = 0;
  for (auto constraint : constraints) {
    const auto at = item(path, index++);
    validate_request_references(causes, child(at, "requests"), constraint["requests"], names);
    bool any = false;
    for (auto field : {"matchAttribute", "distinctAttribute"}) {
      if (any || !constraint.has(field)) continue;
      any = true;
      validate_qualified_attribute(causes, child(at, field), constraint[field].text());
    }
    if (!any)
      required(causes, at,
               "exactly one of \"matchAttribute\" or \"distinctAttribute\" is required, but multiple fields are set");
  }
}

void validate_claim_devices(Causes& causes, const std::string& path, const Value& devices) {
  const auto names = request_names(devices);
  validate_requests(causes, child(path, "requests"), devices["requests"]);
  validate_constraints(causes, child(path, "constraints"), devices["constraints"], names);
  const auto configs = child(path, "config");
  if (!is_bounded(causes, configs, devices["config"], kConfigsMax)) return;
  std::size_t index = 0;
  for (auto config : devices["config"]) {
    const auto at = item(configs, index++);
    validate_request_references(causes, child(at, "requests"), config["requests"], names);
    validate_configuration(causes, at, config);
  }
}

void validate_claim(const Value& object, Causes& causes) {
  validate_claim_devices(causes, "spec.devices", object["spec"]["devices"]);
}

void validate_claim_template(const Value& object, Causes& causes) {
  const auto metadata = object["spec"]["metadata"];
  validate_labels(causes, "spec.metadata.labels", metadata["labels"]);
  validate_annotations(causes, "spec.metadata.annotations", metadata["annotations"]);
  validate_claim_devices(causes, "spec.spec.devices", object["spec"]["spec"]["devices"]);
}

// --- DeviceClass ---

void validate_class(const Value& object, Causes& causes) {
  const auto spec = object["spec"];
  validate_selectors(causes, "spec.selectors", spec["selectors"]);
  if (is_bounded(causes, "spec.config", spec["config"], kConfigsMax)) {
    std::size_t index = 0;
    for (auto config : spec["config"]) validate_configuration(causes, item("spec.config", index++), config);
  }
  if (const auto name = spec["extendedResourceName"]; name && !is_extended_resource(name.text()))
    invalid(causes, "spec.extendedResourceName", name, "must be a valid extended resource name");
}

// --- ResourceSlice ---

void validate_pool(Causes& causes, const Value& pool) {
  constexpr int kNameMax = 253;
  const std::string field = "spec.pool.name";
  auto name = pool["name"].text();
  if (name.empty()) {
    required(causes, field);
  } else {
    if (name.size() > kNameMax) too_long(causes, field, kNameMax);
    for (bool more = true; more;) {
      const auto slash = name.find('/');
      const auto part = name.substr(0, slash);
      invalid_each(causes, field, part, dns1123_subdomain(part));
      more = slash != std::string_view::npos;
      name.remove_prefix(more ? slash + 1 : name.size());
    }
  }
  if (const auto count = pool["resourceSliceCount"].integer(); count <= 0)
    invalid(causes, "spec.pool.resourceSliceCount", count, "must be greater than zero");
  if (const auto generation = pool["generation"].integer(); generation < 0)
    invalid(causes, "spec.pool.generation", generation, "must be greater than or equal to zero");
}

/// Which nodes the slice is about: one of four fields says it.
void validate_place(Causes& causes, const Value& spec) {
  std::string set;
  const auto met = [&](std::string_view field) { set += (set.empty() ? "`" : ", `") + std::string(field) + "`"; };
  int count = 0;
  if (const auto node = spec["nodeName"]) {
    if (node.text().empty()) {
      invalid(causes, "spec.nodeName", "", "must be either unset or set to a non-empty string");
    } else {
      met("nodeName"), ++count;
      invalid_each(causes, "spec.nodeName", node.text(), dns1123_subdomain(node.text()));
    }
  }
  if (const auto selector = spec["nodeSelector"]) {
    met("nodeSelector"), ++count;
    validate_node_selector(causes, "spec.nodeSelector", selector);
    if (selector["nodeSelectorTerms"].size() != 1)
      invalid(causes, "spec.nodeSelector.nodeSelectorTerms", selector["nodeSelectorTerms"],
              "must have exactly one node selector term");
  }
  for (auto field : {"allNodes", "perDeviceNodeSelection"}) {
    const auto flag = spec[field];
    if (!flag) continue;
    if (flag.boolean())
      met(field), ++count;
    else
      invalid(causes, child("spec", field), flag, "must be either unset or set to true");
  }
  constexpr std::string_view kWords =
      "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required";
  if (count == 0) required(causes, "spec", kWords);
  if (count > 1) invalid(causes, "spec", "{" + set + "}", std::string(kWords) + ", but multiple fields are set");
}

bool is_semantic_version(std::string_view text) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto is_id = [&](char c) { return is_digit(c) || (c | 32) >= 'a' ? true : c == '-'; };
  const auto plus = text.find('+');
  const auto build = plus == std::string_view::npos ? std::nullopt : std::optional(text.substr(plus + 1));
  text = text.substr(0, plus);
  const auto dash = text.find('-');
  const auto pre = dash == std::string_view::npos ? std::nullopt : std::optional(text.substr(dash + 1));
  text = text.substr(0, dash);
  const auto each_part = [](std::string_view list, auto fits) {
    int parts = 0;
    for (bool more = true; more; ++parts) {
      const auto dot = list.find('.');
      if (!fits(list.substr(0, dot))) return 0;
      more = dot != std::string_view::npos;
      list.remove_prefix(more ? dot + 1 : list.size());
    }
    return parts;
  };
  const auto is_number = [&](std::string_view part) {
    return !part.empty() && std::ranges::all_of(part, is_digit) && (part.size() == 1 || part.front() != '0');
  };
  const auto is_word = [&](std::string_view part) { return !part.empty() && std::ranges::all_of(part, is_id); };
  const auto is_pre = [&](std::string_view part) {
    return is_word(part) && (!std::ranges::all_of(part, is_digit) || is_number(part));
  };
  return each_part(text, is_number) == 3 && (!pre || each_part(*pre, is_pre) > 0) &&
         (!build || each_part(*build, is_word) > 0);
}

void validate_attribute(Causes& causes, const std::string& path, const Value& attribute) {
  constexpr int kValueMax = 64;
  constexpr static FieldRule kText[] = {{"string", is_short, nullptr, 0, kValueMax}};
  check_rules(causes, path, attribute, kText);
  if (const auto version = attribute["version"]) {
    if (!is_semantic_version(version.text()))
      invalid(causes, child(path, "version"), version, "must be a string compatible with semver.org spec 2.0.0");
    if (version.text().size() > kValueMax) too_long(causes, child(path, "version"), kValueMax);
  }
  int count = 0;
  for (auto field : {"bool", "int", "string", "version"}) count += attribute.has(field);
  if (count != 1)
    invalid(causes, path, count == 0 ? BadValue("") : BadValue(attribute), "exactly one value must be specified");
}

void validate_device_taint(Causes& causes, const std::string& path, const Value& taint) {
  constexpr static FieldRule kRules[] = {{"value", is_named, label_value}};
  const auto key = taint["key"].text(), effect = taint["effect"].text();
  invalid_each(causes, child(path, "key"), key, qualified_name(key));
  check_rules(causes, path, taint, kRules);
  if (effect.empty())
    required(causes, child(path, "effect"));
  else if (std::ranges::find(kTaintEffects, effect) == std::end(kTaintEffects))
    not_supported(causes, child(path, "effect"), effect, kTaintEffects);
}

constexpr std::size_t kDevicesMax = 128, kAdvancedDevicesMax = 64, kAttributesMax = 32, kTaintsMax = 16;

void validate_device(Causes& causes, const std::string& path, const Value& device) {
  const auto name = device["name"].text();
  invalid_each(causes, child(path, "name"), name, dns1123_label(name));
  const auto count = device["attributes"].size() + device["capacity"].size();
  if (count > kAttributesMax)
    invalid(causes, path, static_cast<std::int64_t>(count),
            "the total number of attributes and capacities must not exceed 32");
  const auto attributes = child(path, "attributes"), capacity = child(path, "capacity");
  for (auto attribute : device["attributes"]) {
    validate_attribute_name(causes, attributes, attribute.key());
    validate_attribute(causes, keyed(attributes, attribute.key()), attribute);
  }
  for (auto amount : device["capacity"]) {
    validate_attribute_name(causes, capacity, amount.key());
    if (amount.has("requestPolicy") && !device["allowMultipleAllocations"].boolean())
      forbidden(causes, child(keyed(capacity, amount.key()), "requestPolicy"), "allowMultipleAllocations must be true");
  }
  const auto taints = child(path, "taints");
  if (!is_bounded(causes, taints, device["taints"], kTaintsMax)) return;
  std::size_t index = 0;
  for (auto taint : device["taints"]) validate_device_taint(causes, item(taints, index++), taint);
}

void validate_slice(const Value& object, Causes& causes) {
  const auto spec = object["spec"], devices = spec["devices"];
  validate_csi_driver_name(causes, "spec.driver", spec["driver"].text());
  validate_pool(causes, spec["pool"]);
  validate_place(causes, spec);
  if (spec.has("sharedCounters") && spec.has("devices"))
    invalid(causes, "spec", "", "only one of `sharedCounters` or `devices` is allowed");
  const bool advanced = std::any_of(devices.begin(), devices.end(), [](const Value& device) {
    return !device["taints"].empty() || !device["consumesCounters"].empty();
  });
  if (!is_bounded(causes, "spec.devices", devices, advanced ? kAdvancedDevicesMax : kDevicesMax)) return;
  std::set<std::string> names;
  std::size_t index = 0;
  for (auto device : devices) {
    const auto at = item("spec.devices", index++);
    validate_device(causes, at, device);
    if (!names.insert(device["name"].string()).second) duplicate(causes, at, device["name"].text());
  }
}

/// A claim that stands may be older than some of the defaults.
template <void (*Defaults)(Value)>
void spec_stays(const Value& object, const Value& old, Causes& causes) {
  auto stored = schema::Document::copy_of(old);
  Defaults(stored.root());
  immutable(causes, "spec", object["spec"], stored["spec"]);
}

constexpr std::string_view kSliceKept[] = {"spec.pool.name", "spec.driver", "spec.nodeName"};

constexpr NameRule kName = NameRule::dns_subdomain;
// A spec that cannot change is judged once, at creation.
constexpr KindFacts kKinds[] = {
    {kGroup, "resourceclaims", default_claim, kReturnsDeleted | kSealsMetadata, kName, nullptr,
     spec_stays<default_claim>, nullptr, validate_claim},
    {kGroup, "resourceclaimtemplates", default_claim_template, kReturnsDeleted, kName, nullptr,
     spec_stays<default_claim_template>, nullptr, validate_claim_template},
    {kGroup, "resourceslices", nullptr, kGeneration | kReturnsDeleted, kName, validate_slice, kept<kSliceKept>},
    {kGroup, "deviceclasses", nullptr, kGeneration | kReturnsDeleted, kName, validate_class},
    {kGroup, "devicetaintrules", nullptr, kGeneration | kReturnsDeleted | kSealsMetadata}};

}  // namespace

std::vector<Strategy> device_strategies() {
  std::vector<Strategy> rows;
  for (const auto& facts : kKinds) rows.push_back(row_of(facts));
  return rows;
}

}  // namespace sublet::apiserver
