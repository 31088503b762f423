#include "apiserver/authz/role_rules.h"

#include <algorithm>

#include "apiserver/request/text_list.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

constexpr std::string_view kCommonVerbs[] = {"get",         "list",  "watch",    "create",
                                             "update",      "patch", "delete",   "deletecollection",
                                             "impersonate", "bind",  "escalate", "use"};

std::uint32_t bit_of_verb(std::string_view verb) {
  for (std::size_t place = 0; place < std::size(kCommonVerbs); ++place)
    if (kCommonVerbs[place] == verb) return 1U << place;
  return 0;
}

/// One of 64, the same for the same text; "*" has one of its own like any other.
std::uint64_t bit_of(std::string_view text) {
  std::uint64_t hash = 1469598103934665603ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return 1ULL << (hash >> 58);
}

std::string_view without_stars(std::string_view text) {
  while (text.ends_with('*')) text.remove_suffix(1);
  return text;
}

// "pods/log" against a resource and its subresource, without putting the two together.
bool names_resource(std::string_view word, const Attributes& wanted) {
  if (wanted.subresource.empty()) return word == wanted.resource;
  if (word.size() != wanted.resource.size() + 1 + wanted.subresource.size())
    return word.size() == wanted.subresource.size() + 2 && word.starts_with("*/") && word.ends_with(wanted.subresource);
  if (word.starts_with(wanted.resource) && word[wanted.resource.size()] == '/' && word.ends_with(wanted.subresource))
    return true;
  return wanted.resource.size() == 1 && word.starts_with("*/") && word.ends_with(wanted.subresource);
}

// A word with a '/' is indexed by its subresource: "pods/log" and "*/log" are both found by "log".
std::uint64_t bit_of_resource(std::string_view word) {
  const auto slash = word.find('/');
  return bit_of(slash == std::string_view::npos ? word : word.substr(slash + 1));
}

void measure(const Value& list, std::size_t& words, std::size_t& bytes) {
  for (const Value word : list) {
    ++words;
    bytes += word.text().size();
  }
}

constexpr std::string_view kRuleMembers[] = {"verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs"};

}  // namespace

Question::Question(const Attributes& asked)
    : attributes(asked),
      verb_bit(bit_of_verb(asked.verb)),
      group_bits(bit_of(asked.group) | bit_of(kWildcard)),
      resource_bits(bit_of(asked.subresource.empty() ? asked.resource : asked.subresource) | bit_of(kWildcard)) {
  if (asked.resource.find('/') != std::string_view::npos) resource_bits = ~0ULL;  // a review may ask for "pods/log"
}

RoleRules::RoleRules(const Value& rules) {
  std::size_t words = 0, bytes = 0;
  for (const Value rule : rules)
    for (const auto member : kRuleMembers) measure(rule[member], words, bytes);
  text_.reserve(bytes);  // words_ point into it
  words_.reserve(words);
  rules_.reserve(rules.size());
  for (const Value rule : rules) {
    Rule made;
    for (std::size_t which = 0; which < std::size(kRuleMembers); ++which) {
      made.begin[which] = static_cast<std::uint32_t>(words_.size());
      for (const Value word : rule[kRuleMembers[which]]) {
        const std::size_t at = text_.size();
        text_ += word.text();
        words_.push_back(std::string_view(text_).substr(at));
      }
    }
    made.begin[List::end] = static_cast<std::uint32_t>(words_.size());
    for (const auto verb : list(made, verbs)) made.verb_bits |= verb == kWildcard ? ~0U : bit_of_verb(verb);
    for (const auto group : list(made, groups)) made.group_bits |= bit_of(group);
    for (const auto resource : list(made, resources)) made.resource_bits |= bit_of_resource(resource);
    rules_.push_back(made);
  }
}

RuleWords RoleRules::rule(std::size_t place) const {
  const Rule& rule = rules_[place];
  return {list(rule, verbs), list(rule, groups), list(rule, resources), list(rule, names), list(rule, urls)};
}

bool RoleRules::matches_resource(const Rule& rule, const Attributes& wanted) const {
  const auto matches = [&wanted](std::string_view word) { return word == kWildcard || names_resource(word, wanted); };
  const Words words = list(rule, resources);
  return std::any_of(words.begin(), words.end(), matches);
}

bool RoleRules::allows(const Rule& rule, const Question& question) const {
  const Attributes& wanted = question.attributes;
  if (question.verb_bit != 0) {
    if ((rule.verb_bits & question.verb_bit) == 0) return false;
  } else if (rule.verb_bits != ~0U && !contains_text(list(rule, verbs), wanted.verb)) {
    return false;
  }
  if (!wanted.is_resource) {
    const Words words = list(rule, urls);
    return std::any_of(words.begin(), words.end(), [&wanted](std::string_view url) {
      return url == kWildcard || url == wanted.path ||
             (url.ends_with('*') && wanted.path.starts_with(without_stars(url)));
    });
  }
  if ((rule.group_bits & question.group_bits) == 0 || (rule.resource_bits & question.resource_bits) == 0) return false;
  const Words group_words = list(rule, groups), name_words = list(rule, names);
  if (!contains_text(group_words, kWildcard) && !contains_text(group_words, wanted.group)) return false;
  return matches_resource(rule, wanted) && (name_words.empty() || contains_text(name_words, wanted.name));
}

bool RoleRules::allow(const Question& question) const {
  return std::any_of(rules_.begin(), rules_.end(), [&](const Rule& rule) { return allows(rule, question); });
}

}  // namespace sublet::apiserver
