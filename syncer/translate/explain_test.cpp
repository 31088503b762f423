#include "sublet/syncer/explain.h"

#include <gtest/gtest.h>

#include "sublet/schema/engine.h"
#include "syncer/translate/translate_testing.h"

namespace sublet::syncer {
namespace {

using schema::Document;

const Document& web_pod() {
  static const Document made =
      schema::parse_yaml(
          "apiVersion: v1\nkind: Pod\nmetadata: {name: web, namespace: ai, uid: u, labels: {app: web}}\n"
          "spec:\n  subdomain: db\n  serviceAccountName: builder\n  containers:\n"
          "  - {name: main, image: nginx}\n")
          .value();
  return made;
}

const ExplainedField* find(const Explanation& answer, const std::string& path) {
  for (const ExplainedField& field : answer.fields)
    if (field.path == path) return &field;
  return nullptr;
}

constexpr const char* kAlways =
    "patches: [{name: always, target: Pod, effects: [{set: 'spec.containers[*].imagePullPolicy', value: Always}]},\n"
    "          {name: other, target: Pod, effects: [{set: 'spec.priorityClassName', value: low}]},\n"
    "          {name: not-of-it, target: Service, effects: [{set: 'spec.type', value: ClusterIP}]}]\n";

TEST(Explain, SaysWhichRowAndWhy) {
  const Explanation answer = explain(rag_context_with(""), "Pod", web_pod().root(), {});
  EXPECT_EQ(answer.host_namespace, "team-rag");
  EXPECT_EQ(answer.host_name, "web-x-ai-x-rag");
  const auto* account = find(answer, "spec.serviceAccountName");
  ASSERT_TRUE(account);
  EXPECT_EQ(account->tenant, "\"builder\"");
  EXPECT_EQ(account->host, "\"sublet-workload-rag\"");
  EXPECT_EQ(account->cause, ExplainedField::Cause::row);
  EXPECT_EQ(account->action, "force");
  EXPECT_EQ(account->why, "a ServiceAccount without rights");
  const auto* subdomain = find(answer, "spec.subdomain");
  ASSERT_TRUE(subdomain);
  EXPECT_EQ(subdomain->host, "");
  EXPECT_EQ(subdomain->action, "drop");
  EXPECT_FALSE(find(answer, "spec.containers[0].image")) << "it crosses as it is";
}

TEST(Explain, TellsTheTemplateFromTheHost) {
  const auto context = rag_context_with(kAlways);
  const Explanation before = explain(context, "Pod", web_pod().root(), {});
  const auto* policy = find(before, "spec.containers[0].imagePullPolicy");
  ASSERT_TRUE(policy);
  EXPECT_EQ(policy->cause, ExplainedField::Cause::patch);
  EXPECT_EQ(policy->host, "\"Always\"");
  EXPECT_EQ(policy->patch, "always");
  ASSERT_TRUE(find(before, "spec.priorityClassName"));
  EXPECT_EQ(find(before, "spec.priorityClassName")->patch, "other");
  ASSERT_TRUE(find(before, "spec.serviceAccountName"));
  EXPECT_EQ(find(before, "spec.serviceAccountName")->patch, "");

  auto on_host = translate(context, "Pod", web_pod().root(), Operation::create)->host_object.clone();
  on_host.root()["spec"].put("nodeName", "node-1");
  on_host.root().object("status").put("phase", "Running");
  const Explanation after = explain(context, "Pod", web_pod().root(), on_host.root());
  const auto* node = find(after, "spec.nodeName");
  ASSERT_TRUE(node);
  EXPECT_EQ(node->cause, ExplainedField::Cause::host);
  EXPECT_EQ(node->host, "\"node-1\"");
  EXPECT_FALSE(find(after, "status.phase"));
  EXPECT_EQ(find(after, "spec.containers[0].imagePullPolicy")->cause, ExplainedField::Cause::patch);
}

TEST(Explain, APodThatRunsHasANode) {
  Document bound = web_pod().clone();
  bound.root()["spec"].put("nodeName", "node-1");
  EXPECT_EQ(explain(rag_context_with(""), "Pod", bound.root(), {}).denied.size(), 1u) << "nobody may ask for one";
  bound.root()["metadata"].put("resourceVersion", "7");
  EXPECT_TRUE(explain(rag_context_with(""), "Pod", bound.root(), bound.root()).denied.empty());
}

TEST(Explain, WhatDoesNotCrossIsOnlyRefused) {
  Document refused = web_pod().clone();
  refused.root()["spec"].put("hostNetwork", true);
  const Explanation answer = explain(rag_context_with(""), "Pod", refused.root(), {});
  ASSERT_EQ(answer.denied.size(), 1u);
  EXPECT_EQ(answer.denied[0].field, "spec.hostNetwork");
  EXPECT_TRUE(answer.fields.empty());
}

}  // namespace
}  // namespace sublet::syncer
