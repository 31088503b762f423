// flowcontrol.apiserver.k8s.io: FlowSchema and PriorityLevelConfiguration.

#include <algorithm>
#include <cmath>
#include <set>

#include "apiserver/strategies/kind_facts.h"
#include "apiserver/validation/names.h"
#include "sublet/apiserver/flow_objects.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

bool has_star(const Value& list) {
  return std::any_of(list.begin(), list.end(), [](const Value& entry) { return entry.text() == "*"; });
}

// --- FlowSchema ---

constexpr DefaultFact kFlowSchema[] = {{"spec.matchingPrecedence", "1000", {}, {}, true}};
constexpr std::int64_t kPrecedenceMax = 10000;
constexpr std::string_view kDistinguisherMethods[] = {"ByNamespace", "ByUser"},
                           kFlowSubjectKinds[] = {"Group", "ServiceAccount", "User"},
                           kFlowVerbs[] = {"create", "delete", "deletecollection", "get",  "list",
                                           "patch",  "proxy",  "update",           "watch"};

struct SubjectForm {
  std::string_view kind, member;
};
constexpr SubjectForm kSubjectForms[] = {{"ServiceAccount", "serviceAccount"}, {"User", "user"}, {"Group", "group"}};

void validate_service_account(Causes& causes, const std::string& path, const Value& account) {
  const auto name = account["name"].text(), space = account["namespace"].text();
  if (name.empty())
    required(causes, child(path, "name"));
  else if (name != "*")
    invalid_each(causes, child(path, "name"), name, dns1123_subdomain(name));
  if (space.empty())
    required(causes, child(path, "namespace"), "must specify namespace for service account");
  else
    invalid_each(causes, child(path, "namespace"), space, dns1123_label(space));
}

void validate_flow_subject(Causes& causes, const std::string& path, const Value& subject) {
  const auto kind = subject["kind"].text();
  if (std::ranges::find(kFlowSubjectKinds, kind) == std::end(kFlowSubjectKinds))
    return not_supported(causes, child(path, "kind"), kind, kFlowSubjectKinds);
  for (const auto& form : kSubjectForms) {
    const auto value = subject[form.member];
    const auto at = child(path, form.member);
    const std::string member(form.member), own(form.kind);
    if (form.kind != kind) {
      if (value) forbidden(causes, at, member + " is forbidden when subject kind is not '" + own + "'");
    } else if (!value) {
      required(causes, at, member + " is required when subject kind is '" + own + "'");
    } else if (form.kind == "ServiceAccount") {
      validate_service_account(causes, at, value);
    } else if (value["name"].text().empty()) {
      required(causes, child(at, "name"));
    }
  }
}

void validate_verbs(Causes& causes, const std::string& path, const Value& verbs) {
  const auto field = child(path, "verbs");
  if (verbs.empty()) return required(causes, field, "verbs must contain at least one value");
  if (has_star(verbs)) {
    if (verbs.size() > 1) invalid(causes, field, verbs, "if '*' is present, must not specify other verbs");
    return;
  }
  const bool known = std::all_of(verbs.begin(), verbs.end(), [](const Value& verb) {
    return std::ranges::find(kFlowVerbs, verb.text()) != std::end(kFlowVerbs);
  });
  if (!known) not_supported(causes, field, verbs, kFlowVerbs);
}

std::string_view what_is_wrong_with_url(std::string_view url) {
  if (url.empty()) return "must not be empty";
  if (url == "/") return "";
  if (!url.starts_with('/')) return "must start with slash";
  if (url.find(' ') != std::string_view::npos) return "must not contain white-space";
  if (url.find("//") != std::string_view::npos) return "must not contain double slash";
  const auto stars = std::ranges::count(url, '*');
  return stars > 1 || (stars == 1 && !url.ends_with("/*")) ? "wildcard can only do suffix matching" : "";
}

void validate_urls(Causes& causes, const std::string& path, const Value& urls) {
  const auto field = child(path, "nonResourceURLs");
  if (urls.empty()) return required(causes, field, "nonResourceURLs must contain at least one value");
  if (has_star(urls)) {
    if (urls.size() > 1) invalid(causes, field, urls, "if '*' is present, must not specify other non-resource URLs");
    return;
  }
  std::size_t index = 0;
  for (auto url : urls) {
    const auto at = item(field, index++);
    if (const auto wrong = what_is_wrong_with_url(url.text()); !wrong.empty()) invalid(causes, at, url.text(), wrong);
  }
}

void validate_star_alone(Causes& causes, const std::string& field, const Value& list, std::string_view none,
                         std::string_view others) {
  if (list.empty())
    required(causes, field, none);
  else if (list.size() > 1 && has_star(list))
    invalid(causes, field, list, "if '*' is present, must not specify other " + std::string(others));
}

void validate_namespaces(Causes& causes, const std::string& path, const Value& rule) {
  const auto field = child(path, "namespaces");
  const auto spaces = rule["namespaces"];
  if (spaces.empty() && !rule["clusterScope"].boolean())
    return required(causes, field, "resource rules that are not cluster scoped must supply at least one namespace");
  if (has_star(spaces)) {
    if (spaces.size() > 1) invalid(causes, field, spaces, "if '*' is present, must not specify other namespaces");
    return;
  }
  std::size_t index = 0;
  for (auto space : spaces) {
    const auto at = item(field, index++);
    for (const auto& message : dns1123_label(space.text()))
      invalid(causes, at, space.text(), "each member of this list must be '*' or a DNS-1123 label; " + message);
  }
}

void validate_flow_rule(Causes& causes, const std::string& path, const Value& rule) {
  if (rule["subjects"].empty()) required(causes, child(path, "subjects"), "subjects must contain at least one value");
  std::size_t index = 0;
  for (auto subject : rule["subjects"]) validate_flow_subject(causes, item(child(path, "subjects"), index++), subject);
  if (rule["resourceRules"].empty() && rule["nonResourceRules"].empty())
    required(causes, path, "at least one of resourceRules and nonResourceRules has to be non-empty");
  index = 0;
  for (auto resource : rule["resourceRules"]) {
    const auto at = item(child(path, "resourceRules"), index++);
    validate_verbs(causes, at, resource["verbs"]);
    validate_star_alone(causes, child(at, "apiGroups"), resource["apiGroups"],
                        "resource rules must supply at least one api group", "api groups");
    validate_star_alone(causes, child(at, "resources"), resource["resources"],
                        "resource rules must supply at least one resource", "resources");
    validate_namespaces(causes, at, resource);
  }
  index = 0;
  for (auto other : rule["nonResourceRules"]) {
    const auto at = item(child(path, "nonResourceRules"), index++);
    validate_verbs(causes, at, other["verbs"]);
    validate_urls(causes, at, other["nonResourceURLs"]);
  }
}

void validate_distinct_conditions(const Value& object, Causes& causes) {
  std::set<std::string> types;
  std::size_t index = 0;
  for (auto condition : object["status"]["conditions"]) {
    const auto field = child(item("status.conditions", index++), "type");
    if (!types.insert(condition["type"].string()).second) duplicate(causes, field, condition["type"].text());
    if (condition["type"].text().empty()) required(causes, field);
  }
}

void validate_flow_schema(const Value& object, Causes& causes) {
  const auto spec = object["spec"];
  const auto precedence = spec["matchingPrecedence"].integer();
  const std::string field = "spec.matchingPrecedence";
  if (precedence <= 0) invalid(causes, field, precedence, "must be a positive value");
  if (precedence > kPrecedenceMax) invalid(causes, field, precedence, "must not be greater than 10000");
  if (precedence == 1 && object["metadata"]["name"].text() != "exempt")
    invalid(causes, field, precedence, "only the schema named 'exempt' may have matchingPrecedence 1");
  if (const auto method = spec["distinguisherMethod"];
      method && std::ranges::find(kDistinguisherMethods, method["type"].text()) == std::end(kDistinguisherMethods))
    not_supported(causes, "spec.distinguisherMethod.type", method, kDistinguisherMethods);
  const auto name = spec["priorityLevelConfiguration"]["name"].text();
  const std::string level = "spec.priorityLevelConfiguration.name";
  if (name.empty())
    required(causes, level, "must reference a priority level");
  else
    invalid_each(causes, level, name, dns1123_subdomain(name));
  std::size_t index = 0;
  for (auto rule : spec["rules"]) validate_flow_rule(causes, item("spec.rules", index++), rule);
  validate_distinct_conditions(object, causes);
}

// --- PriorityLevelConfiguration ---

constexpr DefaultFact kPriorityLevel[] = {
    {"spec.exempt?.nominalConcurrencyShares", "0"},
    {"spec.exempt?.lendablePercent", "0"},
    {"spec.limited?.nominalConcurrencyShares", "30"},
    {"spec.limited?.lendablePercent", "0"},
    {"spec.limited?.limitResponse?.queuing?.handSize", "8", {}, {}, true},
    {"spec.limited?.limitResponse?.queuing?.queues", "64", {}, {}, true},
    {"spec.limited?.limitResponse?.queuing?.queueLengthLimit", "50", {}, {}, true}};
constexpr std::string_view kLevelTypes[] = {"Exempt", "Limited"}, kResponses[] = {"Queue", "Reject"};
constexpr std::int64_t kQueuesFieldMax = 10'000'000;
constexpr int kHashBits = 60;
constexpr std::string_view kPercents = "must be between 0 and 100, inclusive",
                           kShares = "must be a non-negative integer";
constexpr FieldRule kExemptRules[] = {{"nominalConcurrencyShares", is_between, nullptr, 0, INT64_MAX, {}, kShares},
                                      {"lendablePercent", is_between, nullptr, 0, 100, {}, kPercents}};
constexpr FieldRule kLimitedRules[] = {
    {"nominalConcurrencyShares", is_between, nullptr, 0, INT64_MAX, {}, kShares},
    {"lendablePercent", is_between, nullptr, 0, 100, {}, kPercents},
    {"borrowingLimitPercent", is_between, nullptr, 0, INT64_MAX, {}, "if specified, must be a non-negative integer"}};

void validate_queuing(Causes& causes, const std::string& path, const Value& queuing) {
  const auto queues = queuing["queues"].integer(), hand = queuing["handSize"].integer();
  const auto wrong = [&](std::string_view field, const std::string& words) {
    invalid(causes, child(path, field), queuing[field].integer(), words);
  };
  if (queuing["queueLengthLimit"].integer() <= 0) wrong("queueLengthLimit", "must be positive");
  if (queues <= 0)
    wrong("queues", "must be positive");
  else if (queues > kQueuesFieldMax)
    wrong("queues", "must not be greater than " + std::to_string(kQueuesFieldMax));
  if (hand <= 0)
    wrong("handSize", "must be positive");
  else if (hand > queues)
    wrong("handSize", "should not be greater than queues (" + std::to_string(queues) + ")");
  else if (std::ceil(std::log2(static_cast<double>(queues)) * static_cast<double>(hand)) > kHashBits)
    wrong("handSize", "required entropy bits of deckSize " + std::to_string(queues) + " and handSize " +
                          std::to_string(hand) + " should not be greater than " + std::to_string(kHashBits));
}

void validate_response(Causes& causes, const std::string& path, const Value& response) {
  const auto type = response["type"].text();
  const auto queuing = response["queuing"];
  const auto at = child(path, "queuing");
  if (type == "Reject") {
    if (queuing) forbidden(causes, at, "must be nil if limited.limitResponse.type is not Limited");
  } else if (type == "Queue") {
    if (queuing)
      validate_queuing(causes, at, queuing);
    else
      required(causes, at, "must not be empty if limited.limitResponse.type is Limited");
  } else if (type.empty()) {
    required(causes, child(path, "type"));
  } else {
    not_supported(causes, child(path, "type"), type, kResponses);
  }
}

void validate_priority_level(const Value& object, Causes& causes) {
  const auto spec = object["spec"];
  const auto type = spec["type"].text();
  if ((object["metadata"]["name"].text() == "exempt") != (type == "Exempt"))
    invalid(causes, "spec.type", type, "must be 'Exempt' if and only if `name` is 'exempt'");
  const auto exempt = spec["exempt"], limited = spec["limited"];
  if (type == "Exempt") {
    if (limited) forbidden(causes, "spec.limited", "must be nil if the type is not Limited");
    check_rules(causes, "spec.exempt", exempt, kExemptRules);
  } else if (type == "Limited") {
    if (exempt) forbidden(causes, "spec.exempt", "must be nil if the type is Limited");
    if (!limited) return required(causes, "spec.limited", "must not be empty when type is Limited");
    check_rules(causes, "spec.limited", limited, kLimitedRules);
    validate_response(causes, "spec.limited.limitResponse", limited["limitResponse"]);
  } else if (type.empty()) {
    required(causes, "spec.type");
  } else {
    not_supported(causes, "spec.type", type, kLevelTypes);
  }
  validate_distinct_conditions(object, causes);
}

/// A subject of an unknown kind has no further errors.
void leave_out_subjects(const Value& object, ReportedFields& reported) {
  std::size_t rule_index = 0;
  for (auto rule : object["spec"]["rules"]) {
    const auto at = child(item("spec.rules", rule_index++), "subjects");
    std::size_t index = 0;
    for (auto subject : rule["subjects"]) {
      const auto place = item(at, index++);
      if (std::ranges::find(kFlowSubjectKinds, subject["kind"].text()) == std::end(kFlowSubjectKinds))
        reported.leave_out(place);
    }
  }
}

/// What the server cannot do without is as it is.
const FlowObject* mandatory_object(std::string_view resource, std::string_view name) {
  static const std::vector<FlowObject> kObjects = flow_objects();
  const auto found = std::ranges::find_if(kObjects, [&](const FlowObject& known) {
    return known.mandatory && known.resource == resource && known.name == name;
  });
  return found == kObjects.end() ? nullptr : &*found;
}

void validate_known_schema(const Value& object, Causes& causes) {
  validate_flow_schema(object, causes);
  const auto name = object["metadata"]["name"].string();
  const auto* fixed = mandatory_object(kFlowSchemas, name);
  if (fixed && !semantically_equal(object["spec"], fixed->object["spec"]))
    invalid(causes, "spec", object["spec"], "spec of '" + name + "' must equal the fixed value");
}

/// Of the level 'exempt' what it lends may change.
void validate_known_level(const Value& object, Causes& causes) {
  // Of v1beta3 only; it has no counterpart in v1.
  constexpr std::string_view kOldAnnotation = "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares";
  if (object["metadata"]["annotations"].has(kOldAnnotation))
    forbidden(causes, "metadata.annotations", "annotation '" + std::string(kOldAnnotation) + "' is forbidden");
  validate_priority_level(object, causes);
  const auto name = object["metadata"]["name"].string();
  const auto* fixed = mandatory_object(kPriorityLevels, name);
  if (!fixed) return;
  const bool exempt = name == "exempt";
  auto wanted = schema::Document::copy_of(object["spec"]);
  if (exempt) copy_field(wanted.root(), fixed->object["spec"], "exempt");
  if (semantically_equal(wanted.root(), fixed->object["spec"])) return;
  invalid(causes, "spec", object["spec"],
          "spec of '" + name + "'" + (exempt ? " except the 'spec.exempt' field" : "") + " must equal the fixed value");
}

constexpr KindFacts kFlowControlKinds[] = {
    {kFlowControlGroup, "flowschemas", defaults_from<kFlowSchema>, kGeneration | kSealsMetadata,
     NameRule::dns_subdomain, validate_known_schema, nullptr, nullptr, nullptr, nullptr, leave_out_subjects},
    {kFlowControlGroup, "prioritylevelconfigurations", defaults_from<kPriorityLevel>, kGeneration | kSealsMetadata,
     NameRule::dns_subdomain, validate_known_level}};

}  // namespace

std::vector<Strategy> flow_control_strategies() {
  std::vector<Strategy> rows;
  for (const auto& facts : kFlowControlKinds) rows.push_back(row_of(facts));
  return rows;
}

}  // namespace sublet::apiserver
