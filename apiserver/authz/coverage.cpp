#include "apiserver/authz/coverage.h"

#include <algorithm>

#include "apiserver/request/text_list.h"

namespace sublet::apiserver {
namespace {

std::vector<Right> rights_of(const RuleWords& rule) {
  std::vector<Right> rights;
  for (const auto group : rule.groups)
    for (const auto resource : rule.resources)
      for (const auto verb : rule.verbs) {
        if (rule.names.empty()) rights.push_back({verb, group, resource, {}, {}, false, true});
        for (const auto name : rule.names) rights.push_back({verb, group, resource, name, {}, true, true});
      }
  for (const auto url : rule.urls)
    for (const auto verb : rule.verbs) rights.push_back({verb, {}, {}, {}, url, false, false});
  return rights;
}

bool covers_resource(Words held, std::string_view wanted) {
  if (contains_text(held, kWildcard) || contains_text(held, wanted)) return true;
  const auto slash = wanted.find('/');
  if (slash == std::string_view::npos) return false;
  const auto sub = wanted.substr(slash);
  return std::any_of(held.begin(), held.end(), [sub](std::string_view word) {
    return word.size() == sub.size() + 1 && word.front() == '*' && word.ends_with(sub);
  });
}

bool covers_url(std::string_view held, std::string_view wanted) {
  if (held == wanted) return true;
  if (!held.ends_with('*')) return false;
  while (held.ends_with('*')) held.remove_suffix(1);
  return wanted.starts_with(held);
}

bool covers(const RuleWords& held, const Right& right) {
  if (!contains_text(held.verbs, kWildcard) && !contains_text(held.verbs, right.verb)) return false;
  if (!right.is_resource)
    return held.names.empty() &&
           std::any_of(held.urls.begin(), held.urls.end(), [&](auto url) { return covers_url(url, right.url); });
  if (!contains_text(held.groups, kWildcard) && !contains_text(held.groups, right.group)) return false;
  if (!covers_resource(held.resources, right.resource)) return false;
  return held.names.empty() || (right.has_name && contains_text(held.names, right.name));
}

}  // namespace

std::vector<Right> not_covered(const std::vector<RuleWords>& held, const RoleRules& wanted) {
  std::vector<Right> missing;
  for (std::size_t place = 0; place < wanted.size(); ++place)
    for (const Right& right : rights_of(wanted.rule(place)))
      if (std::none_of(held.begin(), held.end(), [&](const RuleWords& rule) { return covers(rule, right); }))
        missing.push_back(right);
  return missing;
}

void append_rules(std::vector<RuleWords>& to, const RoleRules& rules) {
  for (std::size_t place = 0; place < rules.size(); ++place) to.push_back(rules.rule(place));
}

}  // namespace sublet::apiserver
