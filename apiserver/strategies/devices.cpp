// resource.k8s.io: ResourceClaim, ResourceClaimTemplate, DeviceClass, ResourceSlice and DeviceTaintRule.

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "apiserver/request/api_groups.h"
#include "apiserver/strategies/kind_facts.h"
#include "apiserver/validation/names.h"
#include "apiserver/validation/pod_spec.h"
#include "apiserver/validation/resources.h"
#include "apiserver/validation/volume_sources.h"
#include "sublet/patches/cel.h"

namespace sublet::apiserver {
namespace {

using schema::Value;
namespace cel = patches::cel;

constexpr std::size_t kRequestsMax = 32, kConstraintsMax = 32, kConfigsMax = 32, kSelectorsMax = 32,
                      kAlternativesMax = 8, kDeviceParametersMax = 10 * 1024, kDeviceExpressionMax = 10 * 1024;

// --- what several kinds have ---

/// Of a device request, or of one of its alternatives.
void default_count(Value request) {
  if (request["allocationMode"].text().empty()) request.put("allocationMode", "ExactCount");
  if (request["allocationMode"].text() == "ExactCount" && request["count"].integer() == 0) request.put("count", 1);
  for (auto toleration : request["tolerations"]) default_text(toleration, "operator", "Equal");
}

void default_device_requests(const Value& claim_spec) {
  for (auto request : claim_spec["devices"]["requests"]) {
    if (const auto exactly = request["exactly"]; exactly.is_object()) default_count(exactly);
    for (auto alternative : request["firstAvailable"]) default_count(alternative);
  }
}
void default_claim(Value claim) { default_device_requests(claim["spec"]); }
void default_claim_template(Value claim_template) { default_device_requests(claim_template["spec"]["spec"]); }

cel::TypeRef bounded(const cel::TypeRef& type, std::uint64_t most) {
  auto copy = std::make_shared<cel::Type>(*type);
  copy->max_elements = most;
  return copy;
}

/// What an expression knows of a device (k8s.io/dynamic-resource-allocation/cel).
cel::Environment make_device_environment() {
  constexpr std::uint64_t kDriverMax = 63, kDomainMax = 63, kIdMax = 32, kValueMax = 64, kEntriesMax = 32;
  using cel::Kind;
  using cel::Type;
  const auto text = Type::of(Kind::string);
  const auto domain = bounded(text, kDomainMax), id = bounded(text, kIdMax);
  const auto by_domain = [&](const cel::TypeRef& value) {
    return bounded(Type::map(domain, bounded(Type::map(id, value), kEntriesMax)), kEntriesMax);
  };
  auto any = std::make_shared<Type>(*Type::of(Kind::dyn));  // as upstream types an attribute: no range for a macro
  any->name = "any";
  cel::Environment names(cel::Library::kubernetes);
  names.offer_bindings();
  names.declare("device",
                Type::object("kubernetes.DRADevice",
                             {{"driver", "driver", bounded(text, kDriverMax)},
                              {"attributes", "attributes", by_domain(bounded(any, kValueMax))},
                              {"capacity", "capacity", by_domain(Type::of(Kind::quantity))},
                              {"allowMultipleAllocations", "allowMultipleAllocations", Type::of(Kind::boolean)}}));
  return names;
}

void validate_device_expression(Causes& causes, const std::string& field, std::string_view source) {
  constexpr std::uint64_t kCostMax = 1'000'000;
  static const cel::Environment names = make_device_environment();
  const auto program = cel::Program::compile(source, names);
  if (!program)
    return invalid(causes, field, source, "compilation failed: " + cel::display_text(program.error(), source));
  if (program->type() != cel::Kind::boolean && program->type() != cel::Kind::dyn)
    return invalid(causes, field, source,
                   "must evaluate to bool or the unknown type, not " + cel::type_text(program->full_type()));
  if (program->estimate_cost().max > kCostMax) forbidden(causes, field, "too complex, exceeds cost limit");
}

void validate_selectors(Causes& causes, const std::string& path, const Value& selectors) {
  if (!is_bounded(causes, path, selectors, kSelectorsMax)) return;
  std::size_t index = 0;
  for (auto selector : selectors) {
    const auto at = child(item(path, index++), "cel");
    const auto expression = selector["cel"]["expression"].text();
    if (!selector.has("cel"))
      required(causes, at);
    else if (expression.size() > kDeviceExpressionMax)
      too_long(causes, child(at, "expression"), kDeviceExpressionMax);
    else
      validate_device_expression(causes, child(at, "expression"), expression);
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
  else if (parameters.to_json().size() > kDeviceParametersMax)
    too_long(causes, field, kDeviceParametersMax);
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

void validate_device_constraints(Causes& causes, const std::string& path, const Value& constraints,
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
  validate_device_constraints(causes, child(path, "constraints"), devices["constraints"], names);
  const auto configs = child(path, "config");
  if (!is_bounded(causes, configs, devices["config"], kConfigsMax)) return;
  std::size_t index = 0;
  for (auto config : devices["config"]) {
    const auto at = item(configs, index++);
    validate_request_references(causes, child(at, "requests"), config["requests"], names);
    validate_configuration(causes, at, config);
  }
}

void validate_device_claim(const Value& object, Causes& causes) {
  validate_claim_devices(causes, "spec.devices", object["spec"]["devices"]);
}

bool is_empty_member(const Value& member) {
  if (member.is_string()) return member.text().empty();
  return member.is_null() || ((member.is_object() || member.is_array()) && member.empty());
}

void validate_device_claim_template(const Value& object, Causes& causes) {
  const auto metadata = object["spec"]["metadata"];
  for (auto member : metadata)
    if (member.key() != "labels" && member.key() != "annotations" && !is_empty_member(member))
      forbidden(causes, child("spec.metadata", member.key() == "uid" ? "uID" : member.key()), "cannot be set");
  validate_labels(causes, "spec.metadata.labels", metadata["labels"]);
  validate_annotations(causes, "spec.metadata.annotations", metadata["annotations"]);
  validate_claim_devices(causes, "spec.spec.devices", object["spec"]["spec"]["devices"]);
}

// --- ResourceClaim's status ---

void validate_pool_name(Causes& causes, const std::string& field, std::string_view name) {
  constexpr int kNameMax = 253;
  if (name.empty()) return required(causes, field);
  if (name.size() > kNameMax) too_long(causes, field, kNameMax);
  while (true) {
    const auto slash = name.find('/');
    const auto part = name.substr(0, slash);
    invalid_each(causes, field, part, dns1123_subdomain(part));
    if (slash == std::string_view::npos) return;
    name.remove_prefix(slash + 1);
  }
}

/// In Go's words (github.com/google/uuid) for what is no uuid at all, in Kubernetes' for one that is written otherwise.
void validate_share_id(Causes& causes, const std::string& field, const Value& id) {
  if (!id) return;
  const auto text = id.text();
  constexpr std::size_t kSize = 36, kUrnSize = kSize + 9, kBraced = kSize + 2, kPlain = 32;
  std::string_view body = text;
  std::string problem;
  if (text.size() == kUrnSize) {
    body.remove_prefix(9);
    std::string prefix(text.substr(0, 9));
    std::ranges::transform(prefix, prefix.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c | 32) : c; });
    if (prefix != "urn:uuid:") problem = "invalid urn prefix: " + BadValue(text.substr(0, 9)).text();
  } else if (text.size() == kBraced) {
    if (text.front() != '{' || text.back() != '}') problem = "invalid bracketed UUID format";
    body = text.substr(1, kSize);
  } else if (text.size() != kSize && text.size() != kPlain) {
    problem = "invalid UUID length: " + std::to_string(text.size());
  }
  const bool dashed = text.size() != kPlain;
  for (std::size_t i = 0; problem.empty() && i < body.size(); ++i) {
    const bool dash = dashed && (i == 8 || i == 13 || i == 18 || i == 23);
    const char c = body[i];
    const bool hex = (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'f');
    if (dash ? c != '-' : !hex) problem = "invalid UUID format";
  }
  const auto at = child(field, "shareID");
  if (!problem.empty())
    invalid(causes, at, id, "error validating uid: " + problem);
  else if (text.size() != kSize || std::ranges::any_of(text, [](char c) { return c >= 'A' && c <= 'Z'; }))
    invalid(causes, at, id,
            "uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase "
            "hexadecimal characters");
}

void validate_binding_names(Causes& causes, const std::string& field, const Value& names) {
  constexpr std::size_t kNamesMax = 4;
  if (names.size() > kNamesMax) {
    too_many(causes, field, names.size(), kNamesMax);
  } else {
    std::size_t index = 0;
    for (auto name : names) invalid_each(causes, item(field, index++), name.text(), qualified_name(name.text()));
  }
}

/// Conditions that a device sets before it can be used, and those that say it never will.
void validate_device_binding(Causes& causes, const std::string& path, const Value& holder) {
  const auto good = holder["bindingConditions"], bad = holder["bindingFailureConditions"];
  const auto good_at = child(path, "bindingConditions"), bad_at = child(path, "bindingFailureConditions");
  validate_binding_names(causes, good_at, good);
  validate_binding_names(causes, bad_at, bad);
  std::set<std::string> names, bad_names;
  std::size_t index = 0;
  for (auto name : good) {
    const auto at = item(good_at, index++);
    if (!names.insert(name.string()).second) duplicate(causes, at, name);
  }
  index = 0;
  for (auto name : bad) {
    const auto at = item(bad_at, index++);
    if (!bad_names.insert(name.string()).second) duplicate(causes, at, name);
    if (names.contains(name.string()))
      invalid(causes, at, name, "bindingFailureConditions must not overlap with bindingConditions");
  }
  if (good.empty() && !bad.empty())
    invalid(causes, good_at, BadValue::raw("null"), "bindingConditions are required to use bindingFailureConditions");
  if (bad.empty() && !good.empty())
    invalid(causes, bad_at, BadValue::raw("null"), "bindingFailureConditions are required to use bindingConditions");
}

void validate_result(Causes& causes, const std::string& path, const Value& result, const RequestNames& names) {
  const auto device = result["device"].text();
  validate_request_reference(causes, child(path, "request"), result["request"].text(), names);
  validate_csi_driver_name(causes, child(path, "driver"), result["driver"].text());
  validate_pool_name(causes, child(path, "pool"), result["pool"].text());
  invalid_each(causes, child(path, "device"), device, dns1123_label(device));
  validate_device_binding(causes, path, result);
  validate_share_id(causes, path, result["shareID"]);
}

void validate_allocation(Causes& causes, const std::string& path, const Value& allocation, const RequestNames& names) {
  constexpr static std::string_view kSources[] = {"FromClaim", "FromClass"};
  const auto devices = allocation["devices"];
  const auto results = child(path, "devices.results"), configs = child(path, "devices.config");
  if (is_bounded(causes, results, devices["results"], kRequestsMax)) {
    std::size_t index = 0;
    for (auto result : devices["results"]) validate_result(causes, item(results, index++), result, names);
  }
  if (is_bounded(causes, configs, devices["config"], 2 * kConfigsMax)) {
    std::size_t index = 0;
    for (auto config : devices["config"]) {
      const auto at = item(configs, index++);
      const auto source = config["source"].text();
      if (source.empty())
        required(causes, child(at, "source"));
      else if (std::ranges::find(kSources, source) == std::end(kSources))
        not_supported(causes, child(at, "source"), source, kSources);
      validate_request_references(causes, child(at, "requests"), config["requests"], names);
      validate_configuration(causes, at, config);
    }
  }
  if (const auto selector = allocation["nodeSelector"])
    validate_node_selector(causes, child(path, "nodeSelector"), selector);
}

std::string device_key(const Value& device) {
  auto key = device["driver"].string() + "/" + device["pool"].string() + "/" + device["device"].string();
  if (const auto share = device["shareID"]) key += "/" + share.string();
  return key;
}

/// The same as upstream prints it.
BadValue printed_key(const Value& device) {
  constexpr std::pair<std::string_view, std::string_view> kParts[] = {
      {R"({"Driver":)", "driver"}, {R"(,"Pool":)", "pool"}, {R"(,"Device":)", "device"}, {R"(,"ShareID":)", "shareID"}};
  std::string text;
  for (const auto& [label, field] : kParts) {
    text += label;
    append_json_string(text, device[field].text());
  }
  return BadValue::raw(text + "}");
}

void validate_network_data(Causes& causes, const std::string& path, const Value& data) {
  constexpr std::size_t kAddressesMax = 16;
  constexpr static FieldRule kRules[] = {{"interfaceName", is_short, nullptr, 0, 256},
                                         {"hardwareAddress", is_short, nullptr, 0, 128}};
  if (!data) return;
  check_rules(causes, path, data, kRules);
  const auto at = child(path, "ips");
  if (!is_bounded(causes, at, data["ips"], kAddressesMax)) return;
  std::set<std::string> seen;
  std::size_t index = 0;
  for (auto address : data["ips"]) {
    const auto where = item(at, index++);
    invalid_each(causes, where, address.text(), interface_address(address.text()));
    if (!seen.insert(address.string()).second) duplicate(causes, where, address);
  }
}

void validate_device_status(Causes& causes, const std::string& path, const Value& device,
                            const std::set<std::string>& allocated) {
  constexpr std::size_t kConditionsMax = 8;
  const auto name = device["device"].text();
  validate_csi_driver_name(causes, child(path, "driver"), device["driver"].text());
  validate_pool_name(causes, child(path, "pool"), device["pool"].text());
  invalid_each(causes, child(path, "device"), name, dns1123_label(name));
  validate_share_id(causes, path, device["shareID"]);
  const auto key = device_key(device);
  if (!allocated.contains(key))
    invalid(causes, path, BadValue::raw("{" + key + "}"), "must be an allocated device in the claim");
  if (device["conditions"].size() > kConditionsMax)
    too_many(causes, child(path, "conditions"), device["conditions"].size(), kConditionsMax);
  validate_conditions(causes, child(path, "conditions"), device["conditions"]);
  const auto data = device["data"];
  if (data && data.to_json().size() > kDeviceParametersMax)
    too_long(causes, child(path, "data"), kDeviceParametersMax);
  else if (data && data.is_null())
    required(causes, child(path, "data"));
  else if (data && !data.is_object())
    invalid(causes, child(path, "data"), "<value omitted>", "must be a valid JSON object");
  validate_network_data(causes, child(path, "networkData"), device["networkData"]);
}

void validate_consumers(Causes& causes, const Value& object, const Value& old) {
  constexpr std::size_t kConsumersMax = 256;
  const std::string at = "status.reservedFor";
  const auto consumers = object["status"]["reservedFor"];
  if (is_bounded(causes, at, consumers, kConsumersMax)) {
    std::set<std::string> uids;
    std::size_t index = 0;
    for (auto consumer : consumers) {
      const auto where = item(at, index++);
      for (auto field : {"resource", "name", "uid"})
        if (consumer[field].text().empty()) required(causes, child(where, field));
      if (!uids.insert(consumer["uid"].string()).second) duplicate(causes, where, consumer["uid"].text());
    }
  }
  if (consumers.empty()) return;
  if (!object["status"].has("allocation"))
    return forbidden(causes, at, "may not be specified when `allocated` is not set");
  if (!object["metadata"].has("deletionTimestamp")) return;
  for (auto consumer : consumers) {
    bool known = false;
    for (auto before : old["status"]["reservedFor"]) known |= semantically_equal(before, consumer);
    if (!known)
      return forbidden(causes, at,
                       "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set");
  }
}

void validate_device_claim_status(const Value& object, const Value& old, Causes& causes) {
  const auto status = object["status"], allocation = status["allocation"];
  validate_consumers(causes, object, old);
  std::set<std::string> allocated, seen;
  for (auto result : allocation["devices"]["results"]) allocated.insert(device_key(result));
  std::size_t index = 0;
  for (auto device : status["devices"]) {
    const auto at = item("status.devices", index++);
    validate_device_status(causes, at, device, allocated);
    if (!seen.insert(device_key(device)).second) duplicate(causes, at, printed_key(device));
  }
  if (!allocation) return;
  // What was allocated stays; it is judged once.
  if (const auto before = old["status"]["allocation"])
    immutable(causes, "status.allocation", allocation, before);
  else
    validate_allocation(causes, "status.allocation", allocation, request_names(object["spec"]["devices"]));
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
  validate_pool_name(causes, "spec.pool.name", pool["name"].text());
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

/// What a device takes of the counters that it shares with others.
void validate_consumed(Causes& causes, const std::string& path, const Value& consumed) {
  constexpr std::size_t kSetsMax = 2, kCountersMax = 32;
  if (!is_bounded(causes, path, consumed, kSetsMax)) return;
  std::set<std::string> sets;
  std::size_t index = 0;
  for (auto entry : consumed) {
    const auto at = item(path, index++);
    const auto name = entry["counterSet"].text();
    if (name.empty())
      required(causes, child(at, "counterSet"));
    else
      invalid_each(causes, child(at, "counterSet"), name, dns1123_label(name));
    const auto counters = child(at, "counters");
    if (entry["counters"].empty())
      required(causes, counters);
    else if (is_bounded(causes, counters, entry["counters"], kCountersMax))
      for (auto counter : entry["counters"])
        invalid_each(causes, counters, counter.key(), dns1123_label(counter.key()));
    if (!sets.insert(std::string(name)).second) duplicate(causes, at, name);
  }
}

/// Where a device of a slice is, when each of them says it.
void validate_device_place(Causes& causes, const std::string& path, const Value& device, bool each) {
  const auto node = device["nodeName"], selector = device["nodeSelector"], all = device["allNodes"];
  if (!each) {
    if (node || selector || all)
      invalid(causes, path, BadValue::raw("null"),
              "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in "
              "the ResourceSlice spec");
    return;
  }
  std::string said;
  const auto say = [&](std::string_view field) { said += (said.empty() ? "`" : ", `") + std::string(field) + "`"; };
  if (node && node.text().empty()) {
    invalid(causes, child(path, "nodeName"), "", "must not be empty");
  } else if (node) {
    say("nodeName");
    invalid_each(causes, child(path, "nodeName"), node.text(), dns1123_subdomain(node.text()));
  }
  if (selector) {
    say("nodeSelector");
    validate_node_selector(causes, child(path, "nodeSelector"), selector);
  }
  if (all && !all.boolean())
    invalid(causes, child(path, "allNodes"), BadValue::raw("false"), "must be either unset or set to true");
  else if (all)
    say("allNodes");
  constexpr std::string_view kOne =
      "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to "
      "true in the ResourceSlice spec";
  if (said.empty())
    required(causes, path, kOne);
  else if (said.find(',') != std::string::npos)
    invalid(causes, path, "{" + said + "}", kOne);
}

void validate_counter_sets(Causes& causes, const Value& sets) {
  constexpr std::size_t kSetsMax = 8, kCountersMax = 32;
  const std::string at = "spec.sharedCounters";
  if (!is_bounded(causes, at, sets, kSetsMax)) return;
  std::set<std::string> names;
  std::size_t index = 0;
  for (auto set : sets) {
    const auto where = item(at, index++);
    const auto name = set["name"].text();
    if (name.empty())
      required(causes, child(where, "name"));
    else
      invalid_each(causes, child(where, "name"), name, dns1123_label(name));
    const auto counters = child(where, "counters");
    if (set["counters"].empty())
      required(causes, counters);
    else if (is_bounded(causes, counters, set["counters"], kCountersMax))
      for (auto counter : set["counters"]) invalid_each(causes, counters, counter.key(), dns1123_label(counter.key()));
    if (!names.insert(std::string(name)).second) duplicate(causes, where, name);
  }
}

void validate_slice(const Value& object, Causes& causes) {
  const auto spec = object["spec"], devices = spec["devices"];
  validate_csi_driver_name(causes, "spec.driver", spec["driver"].text());
  validate_pool(causes, spec["pool"]);
  validate_place(causes, spec);
  validate_counter_sets(causes, spec["sharedCounters"]);
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
    validate_device_binding(causes, at, device);
    validate_consumed(causes, child(at, "consumesCounters"), device["consumesCounters"]);
    validate_device_place(causes, at, device, spec["perDeviceNodeSelection"].boolean());
    if (!names.insert(device["name"].string()).second) duplicate(causes, at, device["name"].text());
  }
}

/// Behind gates of upstream's that are off: attributes with several values, and what of a node a device takes.
void drop_slice_gated(Value object) {
  for (auto device : object["spec"]["devices"]) {
    device.erase("nodeAllocatableResourceMappings");
    for (auto attribute : device["attributes"])
      for (auto field : {"ints", "bools", "strings", "versions"})
        if (attribute.is_object()) attribute.erase(field);
  }
}

/// Who asks for a device that others use, to look after it, does so in a namespace that is marked for it.
void judge_admin_access(const WriteContext& context, const Value& requests, Causes& causes) {
  constexpr std::string_view kLabel = "resource.kubernetes.io/admin-access";
  std::size_t index = 0;
  for (auto request : requests) {
    const auto at = child(item("spec.devices.requests", index++), "adminAccess");
    if (!request["exactly"]["adminAccess"].boolean()) continue;
    const auto holder = context.read("namespaces", "", context.namespace_name);
    if (holder && holder->root()["metadata"]["labels"][kLabel].text() == "true") return;
    return forbidden(
        causes, at,
        "admin access to devices requires the `" + std::string(kLabel) + ": true` label on the containing namespace");
  }
}

void judge_claim(WriteContext& context, const Value& object, Causes& causes) {
  judge_admin_access(context, object["spec"]["devices"]["requests"], causes);
}

void judge_claim_template(WriteContext& context, const Value& object, Causes& causes) {
  judge_admin_access(context, object["spec"]["spec"]["devices"]["requests"], causes);
}

/// A taint that does not say since when it is there is there since now.
void stamp_taints(const WriteContext& context, Value object) {
  for (auto device : object["spec"]["devices"])
    for (auto taint : device["taints"])
      if (!taint["timeAdded"] || taint["timeAdded"].is_null()) taint.put("timeAdded", format_time(context.clock.now()));
}

Outcome prepare_slice(WriteContext& context, Value object) {
  drop_slice_gated(object);
  stamp_taints(context, object);
  return {};
}
Outcome prepare_slice_update(WriteContext& context, Value object, const Value&) {
  return prepare_slice(context, object);
}

/// A stored claim may be older than some of the defaults.
template <void (*Defaults)(Value)>
void spec_stays(const Value& object, const Value& old, Causes& causes) {
  auto stored = schema::Document::copy_of(old);
  Defaults(stored.root());
  immutable(causes, "spec", object["spec"], stored["spec"]);
}

// The functions above validate these wherever upstream does: not in a spec that cannot change, nor behind a list
// that is too long. The schema would say it of all.
bool skips_claim(const Value&, std::string_view field) {
  constexpr std::string_view kJudged[] = {".allocationMode", ".effect", ".opaque.driver"};
  return field.starts_with("spec.") &&
         std::ranges::any_of(kJudged, [&](std::string_view name) { return field.ends_with(name); });
}
bool skips_slice(const Value&, std::string_view field) {
  return field.starts_with("spec.devices[") && field.find("].nodeSelector.") != std::string_view::npos;
}

constexpr std::string_view kSliceKept[] = {"spec.pool.name", "spec.driver", "spec.nodeName"};

constexpr NameRule kDeviceNameRule = NameRule::dns_subdomain;
// A claim's spec, which cannot change, is judged once, at creation.
constexpr KindFacts kDeviceKinds[] = {
    {kResourceApiGroup, "resourceclaims", default_claim, kReturnsDeleted | kSealsMetadata, kDeviceNameRule, nullptr,
     spec_stays<default_claim>, validate_device_claim_status, validate_device_claim, skips_claim},
    {kResourceApiGroup, "resourceclaimtemplates", default_claim_template, kReturnsDeleted, kDeviceNameRule,
     validate_device_claim_template, spec_stays<default_claim_template>, nullptr, nullptr, skips_claim},
    {kResourceApiGroup, "resourceslices", nullptr, kGeneration | kReturnsDeleted, kDeviceNameRule, validate_slice,
     kept<kSliceKept>, nullptr, nullptr, skips_slice},
    {kResourceApiGroup, "deviceclasses", nullptr, kGeneration | kReturnsDeleted, kDeviceNameRule, validate_class},
    {kResourceApiGroup, "devicetaintrules", nullptr, kGeneration | kReturnsDeleted | kSealsMetadata}};

}  // namespace

std::vector<Strategy> device_strategies() {
  std::vector<Strategy> rows;
  for (const auto& facts : kDeviceKinds) rows.push_back(row_of(facts));
  for (auto& row : rows) {
    if (row.resource == "resourceclaims") row.judge_create = judge_claim;
    if (row.resource == "resourceclaimtemplates") row.judge_create = judge_claim_template;
    if (row.resource != "resourceslices") continue;
    row.prepare_create = prepare_slice;
    row.prepare_update = prepare_slice_update;
  }
  return rows;
}

}  // namespace sublet::apiserver
