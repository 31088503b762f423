#include "apiserver/flowcontrol/flow_schema.h"

#include <algorithm>
#include <functional>

#include "apiserver/request/user_names.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

constexpr std::string_view kAnyEntry = "*";

// `pods/status` without putting it together.
bool is_resource_of(std::string_view entry, const Attributes& attributes) {
  if (attributes.subresource.empty()) return entry == attributes.resource;
  return entry.size() == attributes.resource.size() + 1 + attributes.subresource.size() &&
         entry.starts_with(attributes.resource) && entry[attributes.resource.size()] == '/' &&
         entry.ends_with(attributes.subresource);
}

bool covers_path(std::string_view rule, std::string_view path) {
  if (rule == kAnyEntry || rule == path) return true;
  if (rule.ends_with('*')) rule.remove_suffix(1);
  if (rule.ends_with('/')) return path.starts_with(rule);
  return path.size() > rule.size() && path.starts_with(rule) && path[rule.size()] == '/';
}

}  // namespace

FlowSchema::Names FlowSchema::Names::read(const Value& list) {
  Names names;
  for (const Value entry : list) names.names.push_back(entry.string());
  names.all = names.names.size() == 1 && names.names[0] == kAnyEntry;
  return names;
}

bool FlowSchema::Names::contains(std::string_view wanted) const {
  return all || std::ranges::find(names, wanted) != names.end();
}

bool FlowSchema::Subject::is(const User& user) const {
  switch (kind) {
    case SubjectKind::user:
      return name == kAnyEntry || name == user.name;
    case SubjectKind::group:
      return name == kAnyEntry || is_in_group(user, name);
    case SubjectKind::account:
      break;
  }
  std::string_view rest = user.name;
  if (!rest.starts_with(kServiceAccountPrefix)) return false;
  rest.remove_prefix(kServiceAccountPrefix.size());
  if (!rest.starts_with(namespace_name)) return false;
  rest.remove_prefix(namespace_name.size());
  if (!rest.starts_with(':')) return false;
  return name == kAnyEntry || rest.substr(1) == name;
}

bool FlowSchema::ResourceRule::matches(const Attributes& attributes) const {
  if (!verbs.contains(attributes.verb) || !groups.contains(attributes.group)) return false;
  const auto is_it = [&](const std::string& entry) { return is_resource_of(entry, attributes); };
  if (!resources.all && !std::ranges::any_of(resources.names, is_it)) return false;
  return attributes.namespace_name.empty() ? cluster_scope : namespaces.contains(attributes.namespace_name);
}

bool FlowSchema::PathRule::matches(const Attributes& attributes) const {
  const auto covers = [&](const std::string& path) { return covers_path(path, attributes.path); };
  return verbs.contains(attributes.verb) && std::ranges::any_of(paths, covers);
}

bool FlowSchema::Rule::matches(const Attributes& attributes) const {
  const auto match = [&](const auto& rule) { return rule.matches(attributes); };
  const auto is_asker = [&](const Subject& subject) { return subject.is(*attributes.user); };
  return std::ranges::any_of(subjects, is_asker) &&
         (attributes.is_resource ? std::ranges::any_of(resources, match) : std::ranges::any_of(paths, match));
}

FlowSchema::Rule FlowSchema::read_rule(const Value& object) {
  Rule rule;
  for (const Value subject : object["subjects"]) {
    const auto kind = subject["kind"].text();
    if (kind == "User")
      rule.subjects.push_back({SubjectKind::user, subject["user"]["name"].string(), {}});
    else if (kind == "Group")
      rule.subjects.push_back({SubjectKind::group, subject["group"]["name"].string(), {}});
    else if (const Value account = subject["serviceAccount"]; account)
      rule.subjects.push_back({SubjectKind::account, account["name"].string(), account["namespace"].string()});
  }
  for (const Value entry : object["resourceRules"])
    rule.resources.push_back({Names::read(entry["verbs"]), Names::read(entry["apiGroups"]),
                              Names::read(entry["resources"]), Names::read(entry["namespaces"]),
                              entry["clusterScope"].boolean()});
  for (const Value entry : object["nonResourceRules"])
    rule.paths.push_back({Names::read(entry["verbs"]), Names::read(entry["nonResourceURLs"]).names});
  return rule;
}

FlowSchema FlowSchema::read(const Value& object) {
  FlowSchema made;
  const Value spec = object["spec"];
  made.name = object["metadata"]["name"].string();
  made.uid = object["metadata"]["uid"].string();
  made.level_name = spec["priorityLevelConfiguration"]["name"].string();
  made.precedence = spec["matchingPrecedence"].integer();
  const auto method = spec["distinguisherMethod"]["type"].text();
  if (method == "ByUser") made.distinguisher_ = Distinguisher::by_user;
  if (method == "ByNamespace") made.distinguisher_ = Distinguisher::by_namespace;
  for (const Value rule : spec["rules"]) made.rules_.push_back(read_rule(rule));
  return made;
}

bool FlowSchema::matches(const Attributes& attributes) const {
  return std::ranges::any_of(rules_, [&](const Rule& rule) { return rule.matches(attributes); });
}

std::uint64_t FlowSchema::flow_of(const Attributes& attributes) const {
  std::string_view value;
  if (distinguisher_ == Distinguisher::by_user) value = attributes.user->name;
  if (distinguisher_ == Distinguisher::by_namespace) value = attributes.namespace_name;
  const std::hash<std::string_view> hash;
  const std::uint64_t own = hash(name), other = hash(value);
  return own ^ (other + 0x9e3779b97f4a7c15ULL + (own << 6) + (own >> 2));
}

}  // namespace sublet::apiserver
