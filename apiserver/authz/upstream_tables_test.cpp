// Upstream's own tables of the authorizer, of escalation and of what brings stored rights up to date: the same
// questions, the same answers. tests/rights has them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iostream>
#include <map>
#include <set>

#include "apiserver/authz/authorizer.h"
#include "apiserver/authz/bootstrap_rights.h"
#include "apiserver/authz/coverage.h"
#include "apiserver/authz/escalation.h"
#include "sublet/store/memory_log.h"
#include "tests/support/source_path.h"

namespace sublet::apiserver {
namespace {

using schema::Document;
using schema::Value;

/// An authorizer over what a case has stored.
class Stored {
 public:
  explicit Stored(const Value& objects) : store_(std::move(*store::Store::open(store::make_memory_log()))) {
    for (const Value list : objects)
      for (const Value object : list) put(list.key(), object);
    authorizer_ = std::make_unique<Authorizer>(*store_, std::vector<ComponentRights>{});
  }
  ~Stored() {
    authorizer_->stop();
    store_->close();
  }
  Stored(const Stored&) = delete;
  Stored& operator=(const Stored&) = delete;
  const Authorizer& authorizer() const { return *authorizer_; }

 private:
  void put(std::string_view resource, const Value& object) {
    std::string name = object["metadata"]["name"].string();
    if (name.empty()) name = "nameless-" + std::to_string(nameless_++);  // as upstream's bindings are
    if (!resource.starts_with("cluster")) name = object["metadata"]["namespace"].string() + "/" + name;
    store::Txn txn;
    txn.ops.push_back({std::string(resource) + ".rbac.authorization.k8s.io/" + name, store::Put{object.to_json()}});
    ASSERT_TRUE(store_->commit(std::move(txn)));
  }

  std::unique_ptr<store::Store> store_;
  std::unique_ptr<Authorizer> authorizer_;
  int nameless_ = 0;
};

User user_of(const Value& name, const Value& groups) {
  User user{name.string(), {}, {}, {}};
  for (const Value group : groups) user.groups.push_back(group.string());
  return user;
}

bool allows(const Stored& stored, const Value& asked, const User& user) {
  Attributes attributes;
  attributes.user = &user;
  attributes.verb = asked["verb"].text();
  attributes.is_resource = asked["resourceRequest"].boolean();
  attributes.group = asked["group"].text();
  attributes.resource = asked["resource"].text();
  attributes.subresource = asked["subresource"].text();
  attributes.namespace_name = asked["namespace"].text();
  attributes.name = asked["name"].text();
  attributes.path = asked["path"].text();
  const bool allowed = stored.authorizer().allows(attributes);
  EXPECT_EQ(stored.authorizer().decide(attributes).allowed, allowed);
  return allowed;
}

/// What binds a user to all there is, in the cluster or in a namespace.
Document bound_to_all(const Value& subjects, std::string_view namespace_name) {
  auto stored = Document::parse_json(
      R"({"clusterroles":[{"metadata":{"name":"all"},"rules":[{"verbs":["*"],"apiGroups":["*"],"resources":["*"]}]}]})");
  Value binding = stored->root().array(namespace_name.empty() ? "clusterrolebindings" : "rolebindings").push_object();
  binding.object("metadata").put("name", "some");
  if (!namespace_name.empty()) binding.object("metadata").put("namespace", namespace_name);
  binding.object("roleRef").put("kind", "ClusterRole");
  binding.object("roleRef").put("name", "all");
  binding.put("subjects", subjects);
  return std::move(*stored);
}

std::string words(std::string_view label, const std::vector<std::string_view>& list) {
  std::string text = std::string(label) + "[";
  for (const auto word : list) text.append(word).append(" ");
  return text + "]";
}

std::string text_of(const Right& right) {
  using List = std::vector<std::string_view>;
  const auto one = [](bool there, std::string_view word) { return there ? List{word} : List{}; };
  return words("verbs", {right.verb}) + words("groups", one(right.is_resource, right.group)) +
         words("resources", one(right.is_resource, right.resource)) + words("names", one(right.has_name, right.name)) +
         words("urls", one(!right.is_resource, right.url));
}

std::string text_of(const RuleWords& rule) {
  const auto list = [](Words all) { return std::vector<std::string_view>(all.begin(), all.end()); };
  return words("verbs", list(rule.verbs)) + words("groups", list(rule.groups)) +
         words("resources", list(rule.resources)) + words("names", list(rule.names)) + words("urls", list(rule.urls));
}

std::vector<std::string> texts_of(const RoleRules& rules) {
  std::vector<RuleWords> all;
  append_rules(all, rules);
  std::vector<std::string> texts;
  for (const RuleWords& rule : all) texts.push_back(text_of(rule));
  return texts;
}

/// Nothing, or why somebody may not write a role with these rules.
std::string refusal(const Stored& stored, const User& user, std::string_view namespace_name, const Value& rules) {
  auto role = Document::parse_json(R"({"metadata":{"name":"new"}})");
  role->root().put("rules", rules);
  const auto resource = namespace_name.empty() ? "clusterroles" : "roles";
  const auto checked =
      check_role_write({stored.authorizer(), user, resource, namespace_name, "", role->root(), Value()});
  if (checked) return {};
  const std::string head = std::string(resource) + R"(.rbac.authorization.k8s.io "new" is forbidden: )";
  const std::string& message = checked.error().message;
  EXPECT_TRUE(message.starts_with(head)) << message;
  return message.substr(std::min(message.size(), head.size()));
}

bool is_one_right(const Value& rule) {
  const std::size_t kinds = rule["resources"].size() + rule["nonResourceURLs"].size();
  return rule["verbs"].size() == 1 && rule["apiGroups"].size() <= 1 && rule["resourceNames"].size() <= 1 && kinds == 1;
}

class UpstreamTables : public testing::Test {
 protected:
  void SetUp() override {
    std::ifstream file(source_path("tests/rights/tables.jsonl"));
    std::string line;
    while (std::getline(file, line)) cases_.push_back(std::move(*Document::parse_json(line)));
    ASSERT_GT(cases_.size(), 250u);
  }
  /// Asks all cases of a function; `judge` returns whether it was one for us.
  template <class Judge>
  void each(std::string_view function, std::size_t least, Judge judge) {
    std::size_t asked = 0, left_out = 0;
    for (const Document& one : cases_) {
      if (one["function"].text() != function) continue;
      SCOPED_TRACE(one.to_json());
      ++(judge(one.root()) ? asked : left_out);
    }
    EXPECT_GE(asked, least);
    std::printf("%s: %zu of upstream's cases asked, %zu not\n", std::string(function).c_str(), asked, left_out);
  }

  std::vector<Document> cases_;
};

TEST_F(UpstreamTables, Decisions) {
  each("Authorize", 30, [](const Value& one) {
    const Value asked = one["attributes"];
    EXPECT_EQ(allows(Stored(one["stored"]), asked, user_of(asked["user"], asked["groups"])), one["allowed"].boolean());
    return true;
  });
}

TEST_F(UpstreamTables, OneRule) {
  each("RuleAllows", 100, [](const Value& one) {
    auto stored = bound_to_all(Document::parse_json(R"([{"kind":"User","name":"jane"}])")->root(), "");
    Value rules = stored.root()["clusterroles"].at(0).array("rules");
    rules.at(0).set(one["rule"]);
    EXPECT_EQ(allows(Stored(stored.root()), one["attributes"], {"jane", {}, {}, {}}), one["allowed"].boolean());
    return true;
  });
}

TEST_F(UpstreamTables, WhomASubjectIs) {
  each("appliesTo", 30, [](const Value& one) {
    const User user = user_of(one["user"]["name"], one["user"]["groups"]);
    const auto stored = bound_to_all(one["subjects"], one["namespace"].text());
    Attributes attributes;
    attributes.user = &user;
    attributes.verb = "get";
    attributes.resource = "pods";
    attributes.namespace_name = one["namespace"].text();
    EXPECT_EQ(Stored(stored.root()).authorizer().allows(attributes), one["applies"].boolean());
    return true;
  });
}

TEST_F(UpstreamTables, WhichRulesSomebodyHas) {
  each("RulesFor", 8, [](const Value& one) {
    const Stored stored(one["stored"]);
    const auto policy = stored.authorizer().policy();
    const User user = user_of(one["user"]["name"], one["user"]["groups"]);
    std::vector<std::string> held;
    for (const RuleWords& rule : held_rules(*policy, user, one["namespace"].text()).rules)
      held.push_back(text_of(rule));
    EXPECT_THAT(held, testing::UnorderedElementsAreArray(texts_of(RoleRules(one["rules"]))));
    return true;
  });
}

TEST_F(UpstreamTables, WhatOthersCover) {
  each("Covers", 40, [](const Value& one) {
    const RoleRules owner(one["owner"]), servant(one["servant"]), uncovered(one["uncovered"]);
    std::vector<RuleWords> held;
    append_rules(held, owner);
    std::vector<std::string> missing;
    for (const Right& right : not_covered(held, servant)) missing.push_back(text_of(right));
    EXPECT_EQ(missing, texts_of(uncovered));
    return true;
  });
}

TEST_F(UpstreamTables, WhatNobodyGivesAway) {
  each("ConfirmNoEscalation", 4, [](const Value& one) {
    const User user = user_of(one["user"]["name"], one["user"]["groups"]);
    EXPECT_EQ(refusal(Stored(one["stored"]), user, one["namespace"].text(), one["rules"]), one["refused"].text());
    return true;
  });
}

// Ours makes one step of what upstream makes two of, breaking down and gathering: what is not broken down is no case.
TEST_F(UpstreamTables, HowMissingRightsAreToldTogether) {
  each("CompactRules", 3, [](const Value& one) {
    for (const Value rule : one["rules"])
      if (!is_one_right(rule)) return false;
    std::string lines;
    std::set<std::string> once;
    for (const Value line : one["lines"]) once.insert(line.string());
    for (const auto& line : once) lines.append("\n").append(line);
    const std::string head = R"(user "jane" (groups=[]) is attempting to grant RBAC permissions not currently held:)";
    EXPECT_EQ(refusal(Stored(Value()), {"jane", {}, {}, {}}, "", one["rules"]), lines.empty() ? "" : head + lines);
    return true;
  });
}

void judge_reconciled(const Value& one, std::string_view kind, std::string_view member) {
  static const std::map<std::string_view, Reconciled> kOperations = {{"none", Reconciled::nothing},
                                                                     {"", Reconciled::nothing},
                                                                     {"update", Reconciled::changed},
                                                                     {"recreate", Reconciled::recreate}};
  Document stored;
  stored.root().set(one["existing"][kind]);
  const Reconciled done = reconcile_right(stored.root(), one["expected"][kind]);
  const Value result = one["result"];
  const auto said = kOperations.find(result["Operation"].text());
  ASSERT_NE(said, kOperations.end()) << result["Operation"].text();
  const bool is_protected = result["Protected"].boolean();
  EXPECT_EQ(done, is_protected ? Reconciled::nothing : said->second);
  if (is_protected || done != Reconciled::changed) return;
  EXPECT_TRUE(stored.root().equals(result[member][kind])) << stored.to_json();
}

// Without taking away what somebody added, which is how a server's start does it (kubectl auth reconcile may do more).
TEST_F(UpstreamTables, BroughtUpToDate) {
  each("computeReconciledRole", 15, [](const Value& one) {
    if (one["remove"].boolean()) return false;
    judge_reconciled(one, "ClusterRole", "Role");
    return true;
  });
  each("computeReconciledRoleBinding", 4, [](const Value& one) {
    if (one["remove"].boolean()) return false;
    judge_reconciled(one, "ClusterRoleBinding", "RoleBinding");
    return true;
  });
}

}  // namespace
}  // namespace sublet::apiserver
