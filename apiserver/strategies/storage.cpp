// storage.k8s.io: StorageClass, VolumeAttachment, CSIDriver, CSINode, CSIStorageCapacity, VolumeAttributesClass.

#include <algorithm>
#include <set>

#include "apiserver/request/api_groups.h"
#include "apiserver/strategies/kind_facts.h"
#include "apiserver/strategies/volumes.h"
#include "apiserver/validation/names.h"
#include "apiserver/validation/resources.h"
#include "apiserver/validation/volume_sources.h"
#include "sublet/base/text.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

constexpr std::size_t kClassParametersMax = 512, kParametersSizeMax = 256 * 1024;

Messages caseless_qualified_name(std::string_view value) { return qualified_name(to_lower(value)); }

std::size_t size_of(const Value& map) {
  std::size_t size = 0;
  for (auto entry : map) size += entry.key().size() + entry.text().size();
  return size;
}

void validate_parameters(Causes& causes, const Value& parameters) {
  const std::string field = "parameters";
  if (parameters.size() > kClassParametersMax) return too_long(causes, field, kClassParametersMax);
  if (parameters.has("")) invalid(causes, field, "", "field can not be empty.");
  if (size_of(parameters) > kParametersSizeMax) too_long(causes, field, kParametersSizeMax);
}

// The driver's name is judged in lower case and shown in its own.
void validate_driver(Causes& causes, const std::string& field, std::string_view name) {
  if (name.empty()) return required(causes, field);
  const auto lower = to_lower(name);
  invalid_each(causes, field, lower, caseless_qualified_name(lower));
}

// --- StorageClass ---

constexpr DefaultFact kStorageClass[] = {{"reclaimPolicy", "\"Delete\"", {}, {}, false, true},
                                         {"volumeBindingMode", "\"Immediate\"", {}, {}, false, true}};
constexpr std::string_view kClassReclaimPolicies[] = {"Delete", "Retain"},
                           kBindingModes[] = {"Immediate", "WaitForFirstConsumer"};
constexpr FieldRule kStorageClassRules[] = {
    choice_of("reclaimPolicy", kClassReclaimPolicies),
    choice_of("volumeBindingMode", kBindingModes),
    {"allowedTopologies[].matchLabelExpressions[].values", must_have_items},
    {"allowedTopologies[].matchLabelExpressions[].key", is_named_even_empty, qualified_name}};

/// A term as a set of sets, in which order does not count.
std::string term_text(const Value& term) {
  std::set<std::string> expressions;
  for (auto expression : term["matchLabelExpressions"]) {
    std::set<std::string> values;
    for (auto value : expression["values"]) values.insert(value.to_json());
    auto text = expression["key"].to_json();
    for (const auto& value : values) text += "," + value;
    expressions.insert(text);
  }
  std::string text;
  for (const auto& expression : expressions) text += expression + ";";
  return text;
}

void validate_topology_repeats(Causes& causes, const std::string& at, const Value& term) {
  std::set<std::string> keys;
  std::size_t index = 0;
  for (auto expression : term["matchLabelExpressions"]) {
    const auto where = item(child(at, "matchLabelExpressions"), index++);
    std::set<std::string> values;
    std::size_t place = 0;
    for (auto value : expression["values"]) {
      if (!values.insert(value.string()).second) duplicate(causes, item(child(where, "values"), place), value.text());
      ++place;
    }
    if (!keys.insert(expression["key"].string()).second)
      duplicate(causes, child(where, "key"), expression["key"].text());
  }
}

void validate_storage_class(const Value& object, Causes& causes) {
  validate_driver(causes, "provisioner", object["provisioner"].text());
  validate_parameters(causes, object["parameters"]);
  check_rules(causes, "", object, kStorageClassRules);
  std::set<std::string> terms = {""};  // upstream's comparison begins with empty ones
  std::size_t index = 0;
  for (auto term : object["allowedTopologies"]) {
    const auto at = item("allowedTopologies", index++);
    validate_topology_repeats(causes, at, term);
    const auto text = term_text(term);
    if (!terms.insert(text).second) duplicate(causes, child(at, "matchLabelExpressions"), "");
  }
}

constexpr std::string_view kStorageClassKept[] = {"parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"};

// --- VolumeAttachment ---

constexpr std::size_t kAttachmentSizeMax = 256 * 1024;
constexpr std::size_t kVolumeErrorMax = 1024;

void validate_attachment(const Value& object, Causes& causes) {
  const auto spec = object["spec"], source = spec["source"];
  validate_csi_driver_name(causes, "spec.attacher", spec["attacher"].text());
  const auto name = source["persistentVolumeName"], inline_spec = source["inlineVolumeSpec"];
  const std::string at = "spec.source";
  constexpr std::string_view kOne = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
  if (!name && !inline_spec) required(causes, at, kOne);
  if (name && inline_spec) forbidden(causes, at, kOne);
  if (name && !inline_spec && name.text().empty())
    required(causes, child(at, "persistentVolumeName"), "must specify non empty persistentVolumeName");
  if (inline_spec && !name) validate_volume_spec(causes, child(at, "inlineVolumeSpec"), inline_spec, "", true);
  const auto node = spec["nodeName"].text();
  invalid_each(causes, "spec.nodeName", node, dns1123_subdomain(node));
  if (name) invalid_each(causes, child(at, "persistentVolumeName"), name.text(), dns1123_subdomain(name.text()));
}

/// Also that a source is empty is not that there is none.
void keep_attachment(const Value& object, const Value& old, Causes& causes) {
  const auto spec = object["spec"], before = old["spec"];
  bool same = semantically_equal(spec, before);
  for (const auto field : {"persistentVolumeName", "inlineVolumeSpec"})
    same = same && spec["source"].has(field) == before["source"].has(field);
  if (!same) invalid(causes, "spec", spec, kImmutable);
}

void validate_attachment_status(const Value& object, const Value&, Causes& causes) {
  const auto status = object["status"];
  if (size_of(status["attachmentMetadata"]) > kAttachmentSizeMax)
    too_long(causes, "status.attachmentMetadata", kAttachmentSizeMax);
  for (auto field : {"attachError", "detachError"}) {
    const auto error = status[field];
    const auto at = child("status", field);
    if (error["message"].text().size() > kVolumeErrorMax) too_long(causes, child(at, "message"), kAttachmentSizeMax);
    if (const auto code = error["errorCode"]; code && code.integer() < 0)
      invalid(causes, child(at, "errorCode"), code, "must be between 0 and 2147483647, inclusive");
  }
}

// --- CSIDriver ---

constexpr DefaultFact kCsiDriver[] = {{"spec.attachRequired", "true"},
                                      {"spec.podInfoOnMount", "false"},
                                      {"spec.storageCapacity", "false"},
                                      {"spec.fsGroupPolicy", "\"ReadWriteOnceWithFSType\"", {}, {}, false, true},
                                      {"spec.volumeLifecycleModes", "[\"Persistent\"]"},
                                      {"spec.requiresRepublish", "false"},
                                      {"spec.seLinuxMount", "false"}};
constexpr std::string_view kGroupPolicies[] = {"File", "None", "ReadWriteOnceWithFSType"},
                           kLifecycleModes[] = {"Persistent", "Ephemeral"};
constexpr std::int64_t kTokenSecondsMin = 600, kTokenSecondsMax = std::int64_t{1} << 32, kUpdatePeriodMin = 10;
constexpr FieldRule kCsiDriverRules[] = {choice_of("spec.fsGroupPolicy", kGroupPolicies),
                                         {"spec.nodeAllocatableUpdatePeriodSeconds",
                                          is_between,
                                          nullptr,
                                          kUpdatePeriodMin,
                                          INT64_MAX,
                                          {},
                                          "must be greater than or equal to 10 seconds"}};

void validate_token_requests(Causes& causes, const Value& requests) {
  std::set<std::string> audiences;
  std::size_t index = 0;
  for (auto request : requests) {
    const auto at = item("spec.tokenRequests", index++);
    if (!audiences.insert(request["audience"].string()).second) {
      duplicate(causes, child(at, "audience"), request["audience"].text());
      continue;
    }
    const auto seconds = request["expirationSeconds"];
    if (!seconds) continue;
    if (seconds.integer() < kTokenSecondsMin)
      invalid(causes, child(at, "expirationSeconds"), seconds, "may not specify a duration less than 10 minutes");
    if (seconds.integer() > kTokenSecondsMax)
      invalid(causes, child(at, "expirationSeconds"), seconds, "may not specify a duration larger than 2^32 seconds");
  }
}

void validate_csi_driver(const Value& object, Causes& causes) {
  const auto spec = object["spec"];
  check_rules(causes, "", object, kCsiDriverRules);
  validate_token_requests(causes, spec["tokenRequests"]);
  for (auto mode : spec["volumeLifecycleModes"])
    if (std::ranges::find(kLifecycleModes, mode.text()) == std::end(kLifecycleModes))
      not_supported(causes, "spec.volumeLifecycleModes", mode.text(), kLifecycleModes);
  if (const auto secrets = spec["serviceAccountTokenInSecrets"]; secrets && spec["tokenRequests"].empty())
    invalid(causes, "spec.serviceAccountTokenInSecrets", secrets,
            "serviceAccountTokenInSecrets is set but no tokenRequests are specified");
}

void validate_csi_driver_update(const Value& object, const Value& old, Causes& causes) {
  const auto spec = object["spec"], before = old["spec"];
  immutable(causes, "spec.attachedRequired", spec["attachRequired"], before["attachRequired"]);
  immutable(causes, "spec.volumeLifecycleModes", spec["volumeLifecycleModes"], before["volumeLifecycleModes"]);
}

/// Upstream counts changes of it from 0, which does not show.
constexpr std::string_view kCsiDriverGated[] = {"spec.preventPodSchedulingIfMissing"};

Outcome prepare_csi_driver(WriteContext&, Value object) {
  drop_gated(object, Value(), kCsiDriverGated);
  return {};
}

Outcome prepare_csi_driver_update(WriteContext&, Value object, const Value& old) {
  drop_gated(object, old, kCsiDriverGated);
  const auto generation = old["metadata"]["generation"].integer();
  if (!semantically_equal(object["spec"], old["spec"])) object.object("metadata").put("generation", generation + 1);
  return {};
}

// --- CSINode ---

constexpr std::size_t kNodeIdMax = 256;

void validate_csi_node_driver(Causes& causes, const std::string& at, const Value& driver) {
  validate_csi_driver_name(causes, child(at, "name"), driver["name"].text());
  const auto id = driver["nodeID"].text();
  if (id.empty()) required(causes, child(at, "nodeID"));
  if (id.size() > kNodeIdMax) invalid(causes, child(at, "nodeID"), id, "must be 256 characters or less");
  if (const auto count = driver["allocatable"]["count"])
    nonnegative(causes, child(at, "allocatable.count"), count.integer());
  std::set<std::string> keys;
  for (auto key : driver["topologyKeys"]) {
    if (key.text().empty()) required(causes, at);
    if (!keys.insert(key.string()).second) duplicate(causes, at, key.text());
    invalid_each(causes, at, key.text(), qualified_name(key.text()));
  }
}

void validate_csi_node(const Value& object, Causes& causes) {
  std::set<std::string> names;
  std::size_t index = 0;
  for (auto driver : object["spec"]["drivers"]) {
    const auto at = item("spec.drivers", index++);
    validate_csi_node_driver(causes, at, driver);
    if (!names.insert(driver["name"].string()).second) duplicate(causes, child(at, "name"), driver["name"].text());
  }
}

void validate_csi_node_update(const Value& object, const Value& old, Causes& causes) {
  for (auto before : old["spec"]["drivers"])
    for (auto driver : object["spec"]["drivers"]) {
      if (driver["name"].text() != before["name"].text()) continue;
      auto now = schema::Document::copy_of(driver), then = schema::Document::copy_of(before);
      now.root().erase("allocatable");
      then.root().erase("allocatable");
      immutable(causes, "spec.drivers", now.root(), then.root());
    }
}

// --- CSIStorageCapacity and VolumeAttributesClass ---

constexpr FieldRule kCapacityRules[] = {{"nodeTopology", is_selector},
                                        {"storageClassName", is_named_even_empty, dns1123_subdomain},
                                        {"capacity", is_nonnegative_quantity}};

void validate_storage_capacity(const Value& object, Causes& causes) {
  check_rules(causes, "", object, kCapacityRules);
  if (!object.has("storageClassName")) invalid_each(causes, "storageClassName", "", dns1123_subdomain(""));
}
constexpr std::string_view kCapacityKept[] = {"nodeTopology", "storageClassName"};

void validate_attributes_class(const Value& object, Causes& causes) {
  validate_driver(causes, "driverName", object["driverName"].text());
  validate_parameters(causes, object["parameters"]);
  if (object["parameters"].empty()) required(causes, "parameters", "must contain at least one key/value pair");
}

void validate_attributes_class_update(const Value& object, const Value& old, Causes& causes) {
  for (auto field : {"driverName", "parameters"})
    if (!semantically_equal(object[field], old[field]))
      forbidden(causes, field, "updates to " + std::string(field) + " are forbidden.");
}

constexpr KindFacts kStorageKinds[] = {
    {kStorageGroup, "storageclasses", defaults_from<kStorageClass>, kReturnsDeleted, NameRule::dns_subdomain,
     validate_storage_class, kept<kStorageClassKept>},
    {kStorageGroup, "csidrivers", defaults_from<kCsiDriver>, kUpdateNeedsVersion | kReturnsDeleted,
     NameRule::dns_subdomain, validate_csi_driver, validate_csi_driver_update},
    {kStorageGroup, "csinodes", nullptr, kUpdateNeedsVersion | kReturnsDeleted, NameRule::dns_subdomain,
     validate_csi_node, validate_csi_node_update},
    {kStorageGroup, "volumeattachments", nullptr, kUpdateNeedsVersion | kReturnsDeleted | kSealsMetadata,
     NameRule::dns_subdomain, validate_attachment, keep_attachment, validate_attachment_status, nullptr,
     skips_volume_field},
    {kStorageGroup, "csistoragecapacities", nullptr, kUpdateNeedsVersion, NameRule::dns_subdomain,
     validate_storage_capacity, kept<kCapacityKept>},
    {kStorageGroup, "volumeattributesclasses", nullptr, kReturnsDeleted, NameRule::dns_subdomain,
     validate_attributes_class, validate_attributes_class_update}};

}  // namespace

std::vector<Strategy> storage_strategies() {
  std::vector<Strategy> rows;
  for (const auto& facts : kStorageKinds) rows.push_back(row_of(facts));
  for (auto& row : rows) {
    if (row.resource != "csidrivers") continue;
    row.prepare_create = prepare_csi_driver;
    row.prepare_update = prepare_csi_driver_update;
  }
  return rows;
}

}  // namespace sublet::apiserver
