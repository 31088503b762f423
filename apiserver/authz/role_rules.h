// RoleRules: the rules of one role, read once and asked often.
//
// A rule keeps its words as they were written (reviews and refusals show them), and beside them what makes most answers
// quick: the common verbs as bits, and of its groups and resources one bit each in a word of 64, so that a rule that
// cannot match is passed over without comparing a text. Asking allocates nothing. Immutable; any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/authz/attributes.h"
#include "sublet/schema/document.h"

namespace sublet::apiserver {

using Words = std::span<const std::string_view>;

inline constexpr std::string_view kWildcard = "*";  // a word for all

/// A rule's words; valid as long as who gave it holds them.
struct RuleWords {
  Words verbs, groups, resources, names, urls;
};

/// What rules are asked about, worked out once for all rules of a decision.
class Question {
 public:
  explicit Question(const Attributes& attributes);
  const Attributes& attributes;
  std::uint32_t verb_bit = 0;    // 0: a verb that has no bit
  std::uint64_t group_bits = 0;  // what a rule must have one of
  std::uint64_t resource_bits = 0;
};

class RoleRules {
 public:
  /// `rules`: the array of a Role or ClusterRole.
  explicit RoleRules(const schema::Value& rules);
  RoleRules(const RoleRules&) = delete;
  RoleRules& operator=(const RoleRules&) = delete;

  bool allow(const Question& question) const;
  std::size_t size() const { return rules_.size(); }
  RuleWords rule(std::size_t place) const;

 private:
  enum List : std::uint8_t { verbs, groups, resources, names, urls, end };
  struct Rule {
    std::uint64_t group_bits = 0, resource_bits = 0;
    std::uint32_t verb_bits = 0;
    std::uint32_t begin[List::end + 1] = {};  // of each list, in words_
  };
  Words list(const Rule& rule, List which) const {
    return Words(words_).subspan(rule.begin[which], rule.begin[which + 1] - rule.begin[which]);
  }
  bool allows(const Rule& rule, const Question& question) const;
  bool matches_resource(const Rule& rule, const Attributes& attributes) const;

  std::string text_;
  std::vector<std::string_view> words_;
  std::vector<Rule> rules_;
};
using RoleRulesPtr = std::shared_ptr<const RoleRules>;

}  // namespace sublet::apiserver
