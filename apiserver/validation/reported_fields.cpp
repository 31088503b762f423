#include "apiserver/validation/reported_fields.h"

#include <algorithm>

namespace sublet::apiserver {
namespace {

std::size_t lists_in(std::string_view path) { return static_cast<std::size_t>(std::ranges::count(path, '[')); }

std::string without_indexes(std::string_view path) {
  std::string text;
  for (bool inside = false; const char c : path) {
    inside = inside ? c != ']' : c == '[';
    if (!inside && c != ']') text += c;
  }
  return text;
}

constexpr std::string_view kNameMember = ".name", kRestartPolicy = ".restartPolicy",
                           kRestartRulesMember = ".restartPolicyRules[";

}  // namespace

void ReportedFields::add(const Cause& cause) {
  fields_.insert(cause.field);
  const auto [known, first] = lists_.try_emplace(without_indexes(cause.field), lists_in(cause.field));
  if (!first) known->second = std::min(known->second, lists_in(cause.field));
  if (cause.reason == "FieldValueForbidden") unread_.insert(cause.field);
  if (cause.message.starts_with("Invalid value: \"\":")) without_name_.insert(cause.field);
  if (cause.reason == "FieldValueRequired" && cause.field.ends_with(kRestartPolicy) &&
      cause.field.find("initContainers[") != std::string::npos)
    without_restart_policy_.insert(cause.field);
}

// The content of a forbidden field is not validated.
bool ReportedFields::lies_in_unread(std::string_view field) const {
  if (unread_.empty()) return false;
  for (std::size_t at = field.find_first_of(".["); at != field.npos; at = field.find_first_of(".[", at + 1))
    if (unread_.contains(std::string(field.substr(0, at)))) return true;
  return false;
}

bool ReportedFields::covers(std::string_view field) const {
  if (fields_.contains(std::string(field)) || lies_in_unread(field)) return true;
  if (const auto named = lists_.find(without_indexes(field)); named != lists_.end() && named->second < lists_in(field))
    return true;
  if (field.ends_with(kNameMember) &&
      without_name_.contains(std::string(field.substr(0, field.size() - kNameMember.size()))))
    return true;
  // The rules of an init container that says no restartPolicy are not read.
  const std::size_t rules = field.find(kRestartRulesMember);
  return rules != field.npos &&
         without_restart_policy_.contains(std::string(field.substr(0, rules)) + std::string(kRestartPolicy));
}

}  // namespace sublet::apiserver
