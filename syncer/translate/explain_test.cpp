#include "sublet/syncer/explain.h"

#include <gtest/gtest.h>

#include "sublet/schema/engine.h"

namespace sublet::syncer {
namespace {

using schema::Document;

TranslateContext context_with(const std::string& template_text) {
  TranslateContext context;
  context.virtual_cluster = "rag";
  context.virtual_cluster_uid = "vc-uid";
  context.host_namespace = "team-rag";
  context.host_service_account = "sublet-workload-rag";
  context.api_server_host = "10.1.2.3";
  context.api_server_port = "443";
  const auto loaded = patches::Template::load(template_text, "t.yaml");
  EXPECT_TRUE(loaded) << loaded.error().message;
  if (loaded) context.resolved_template = loaded->resolve({}, "rag", "team-rag").value();
  return context;
}

const Document& pod() {
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
  const Explanation answer = explain(context_with(""), "Pod", pod().root(), {});
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
  const auto context = context_with(kAlways);
  const Explanation before = explain(context, "Pod", pod().root(), {});
  const auto* policy = find(before, "spec.containers[0].imagePullPolicy");
  ASSERT_TRUE(policy);
  EXPECT_EQ(policy->cause, ExplainedField::Cause::patch);
  EXPECT_EQ(policy->host, "\"Always\"");
  EXPECT_EQ(policy->patch, "always");
  ASSERT_TRUE(find(before, "spec.priorityClassName"));
  EXPECT_EQ(find(before, "spec.priorityClassName")->patch, "other");
  ASSERT_TRUE(find(before, "spec.serviceAccountName"));
  EXPECT_EQ(find(before, "spec.serviceAccountName")->patch, "");

  auto on_host = translate(context, "Pod", pod().root(), Operation::create)->host_object.clone();
  on_host.root()["spec"].put("nodeName", "node-1");
  on_host.root().object("status").put("phase", "Running");
  const Explanation after = explain(context, "Pod", pod().root(), on_host.root());
  const auto* node = find(after, "spec.nodeName");
  ASSERT_TRUE(node);
  EXPECT_EQ(node->cause, ExplainedField::Cause::host);
  EXPECT_EQ(node->host, "\"node-1\"");
  EXPECT_FALSE(find(after, "status.phase"));
  EXPECT_EQ(find(after, "spec.containers[0].imagePullPolicy")->cause, ExplainedField::Cause::patch);
}

TEST(Explain, APodThatRunsHasANode) {
  Document bound = pod().clone();
  bound.root()["spec"].put("nodeName", "node-1");
  EXPECT_EQ(explain(context_with(""), "Pod", bound.root(), {}).denied.size(), 1u) << "nobody may ask for one";
  bound.root()["metadata"].put("resourceVersion", "7");
  EXPECT_TRUE(explain(context_with(""), "Pod", bound.root(), bound.root()).denied.empty());
}

TEST(Explain, WhatDoesNotCrossIsOnlyRefused) {
  Document refused = pod().clone();
  refused.root()["spec"].put("hostNetwork", true);
  const Explanation answer = explain(context_with(""), "Pod", refused.root(), {});
  ASSERT_EQ(answer.denied.size(), 1u);
  EXPECT_EQ(answer.denied[0].field, "spec.hostNetwork");
  EXPECT_TRUE(answer.fields.empty());
}

}  // namespace
}  // namespace sublet::syncer
