#include "apiserver/admission/matching.h"

#include <algorithm>

#include "apiserver/request/members.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

bool names_or_all(const std::vector<std::string>& list, std::string_view text) {
  return std::ranges::any_of(list, [text](const std::string& entry) { return entry == "*" || entry == text; });
}

MatchRule::Scope scope_of(std::string_view text) {
  if (text == "Cluster") return MatchRule::Scope::cluster;
  return text == "Namespaced" ? MatchRule::Scope::namespaced : MatchRule::Scope::all;
}

bool in_scope(MatchRule::Scope scope, const AdmissionRequest& request) {
  const bool cluster = request.is_namespace() || request.namespace_name().empty();
  return scope == MatchRule::Scope::all || cluster == (scope == MatchRule::Scope::cluster);
}

}  // namespace

MatchRule MatchRule::read(const Value& rule) {
  MatchRule made;
  made.operations = texts_of(rule["operations"]);
  made.groups = texts_of(rule["apiGroups"]);
  made.versions = texts_of(rule["apiVersions"]);
  made.names = texts_of(rule["resourceNames"]);
  for (const Value resource : rule["resources"]) {
    const std::string text = resource.string();
    const auto slash = text.find('/');
    made.resources.emplace_back(text.substr(0, slash), slash == std::string::npos ? "" : text.substr(slash + 1));
  }
  made.scope = scope_of(rule["scope"].text());
  return made;
}

bool MatchRule::matches(const AdmissionRequest& request, const schema::ResourceFacts& resource) const {
  const auto is = [&](const auto& entry) {
    return (entry.first == "*" || entry.first == resource.resource) &&
           (entry.second == "*" || entry.second == request.subresource());
  };
  return names_or_all(operations, request.operation()) && names_or_all(groups, resource.group) &&
         names_or_all(versions, resource.version) && std::ranges::any_of(resources, is) && in_scope(scope, request) &&
         (names.empty() || std::ranges::find(names, request.name()) != names.end());
}

Matching Matching::of_webhook(const Value& webhook) {
  Matching made;
  made.read_selectors(webhook);
  made.equivalent_ = webhook["matchPolicy"].text() == "Equivalent";
  made.every_resource_ = false;
  for (const Value rule : webhook["rules"]) made.rules_.push_back(MatchRule::read(rule));
  return made;
}

Matching Matching::of_resources(const Value& match) {
  Matching made;
  if (match.missing()) return made;
  made.read_selectors(match);
  made.equivalent_ = match["matchPolicy"].text() == "Equivalent";
  for (const Value rule : match["resourceRules"]) made.rules_.push_back(MatchRule::read(rule));
  for (const Value rule : match["excludeResourceRules"]) made.excluded_.push_back(MatchRule::read(rule));
  made.every_resource_ = made.rules_.empty();
  return made;
}

void Matching::read_selectors(const Value& from) {
  const auto read = [this](const Value& selector, std::optional<kube::LabelSelector>& into) {
    if (selector.missing()) return;
    auto parsed = kube::LabelSelector::from_object(selector);
    if (!parsed)
      broken_ = fail(Reason::internal_error, "Internal error occurred: " + parsed.error().message).value();
    else if (!parsed->everything())
      into = std::move(*parsed);
  };
  read(from["namespaceSelector"], namespaces_);
  read(from["objectSelector"], objects_);
}

// What is in no namespace is never exempt.
Result<bool> Matching::selects_namespace(const AdmissionRequest& request) const {
  if (!namespaces_ || (request.namespace_name().empty() && !request.is_namespace())) return true;
  const Attempt& attempt = request.attempt();
  if (request.is_namespace() && request.subresource().empty()) {
    const Value state = attempt.verb == WriteVerb::remove ? attempt.old : attempt.object;
    return namespaces_->matches(state["metadata"]["labels"]);
  }
  const auto stored = attempt.context.pending.get("namespaces/" + std::string(request.namespace_name()));
  if (!stored) return fail(not_found_status("", "namespaces", request.namespace_name()));
  return namespaces_->matches(std::span<const std::pair<std::string, std::string>>(stored->index.labels.all()));
}

bool Matching::selects_object(const AdmissionRequest& request) const {
  if (!objects_) return true;
  const Attempt& attempt = request.attempt();
  const auto selected = [this](const Value& object) {
    return object && !object.is_null() && objects_->matches(object["metadata"]["labels"]);
  };
  return selected(attempt.object) || selected(attempt.old);
}

bool Matching::is_about(std::string_view operation) const {
  return every_resource_ ||
         std::ranges::any_of(rules_, [&](const MatchRule& rule) { return names_or_all(rule.operations, operation); });
}

std::optional<MatchedResource> Matching::find(const std::vector<MatchRule>& rules,
                                              const AdmissionRequest& request) const {
  for (const MatchRule& rule : rules)
    if (rule.matches(request, request.resource())) return request.asked();
  if (!equivalent_ || rules.empty()) return std::nullopt;
  const auto others = request.equivalents();
  for (const MatchRule& rule : rules)
    for (const auto* other : others)
      if (rule.matches(request, *other)) return MatchedResource{other, request.kind_of(*other)};
  return std::nullopt;
}

// What is wrong with a selector counts only for requests that the rules are about.
Result<std::optional<MatchedResource>> Matching::match(const AdmissionRequest& request) const {
  if (!broken_ && !selects_object(request)) return std::nullopt;
  const auto in_namespace = selects_namespace(request);
  if (in_namespace && !*in_namespace) return std::nullopt;
  if (find(excluded_, request)) return std::nullopt;
  const auto found = every_resource_ ? std::optional(request.asked()) : find(rules_, request);
  if (!found) return std::nullopt;
  if (broken_) return fail(*broken_);
  if (!in_namespace) return fail(in_namespace.error());
  if (auto possible = request.check_version(*found); !possible) return fail(possible.error());
  return found;
}

}  // namespace sublet::apiserver
