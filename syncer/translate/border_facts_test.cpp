#include "sublet/syncer/border_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sublet/schema/engine.h"
#include "sublet/syncer/translate.h"

namespace sublet::syncer {
namespace {

using patches::Template;
using ::testing::HasSubstr;

std::string patch_of(std::string_view kind, std::string_view effect) {
  return "patches: [{name: p, target: " + std::string(kind) + ", effects: [" + std::string(effect) + "]}]\n";
}

// What crosses of an object with a template that was loaded as if every patch could act.
std::string crossing(std::string_view kind, const std::string& yaml) {
  auto loaded = Template::load(yaml, "t.yaml");
  EXPECT_TRUE(loaded.has_value()) << (loaded ? "" : loaded.error().message);
  TranslateContext context;
  context.virtual_cluster = "rag";
  context.virtual_cluster_uid = "vc-uid";
  context.host_namespace = "team-rag";
  context.host_service_account = "sublet-workload-rag";
  if (loaded) context.resolved_template = loaded->resolve({}, "rag", "team-rag").value();
  const auto object = schema::parse_yaml("apiVersion: v1\nkind: " + std::string(kind) +
                                         "\nmetadata: {name: a, namespace: b, uid: u}\n" +
                                         (kind == "Pod" ? "spec: {containers: [{name: c, image: i}]}\n" : ""));
  auto translated = translate(context, kind, object->root(), Operation::create);
  return translated ? translated->host_object.to_json() : translated.error().causes.at(0).message;
}

TEST(BorderFacts, KindsWhosePatchesRunAreThoseThatAreTranslated) {
  for (const std::string_view kind : border_facts().patched_kinds) {
    const std::string patched =
        crossing(kind, patch_of(kind, "{set: 'metadata.annotations[seen]', value: yes-it-ran}"));
    EXPECT_THAT(patched, HasSubstr("yes-it-ran")) << kind;
  }
  for (const char* kind : {"Node", "Deployment", "VolumeAttachment"})
    EXPECT_THAT(crossing(kind, ""), HasSubstr("is not a kind that is synced"));
}

TEST(BorderFacts, APatchThatTheBorderOverrulesChangesNothingAndIsRefusedAtLoad) {
  for (const char* effect :
       {"{set: metadata.name, value: x}", "{set: metadata.namespace, value: kube-system}",
        "{set: metadata.ownerReferences, value: [{apiVersion: v1, kind: Pod, name: x, uid: y}]}",
        "{append: metadata.finalizers, value: a/b}", "{set: spec.serviceAccountName, value: admin}",
        "{set: spec.serviceAccount, value: admin}", "{set: spec.automountServiceAccountToken, value: true}",
        "{set: spec.nodeName, value: n}", "{set: spec.enableServiceLinks, value: true}",
        "{set: 'metadata.labels[sublet.dev/managed-by]', value: x}",
        "{set: 'metadata.labels[runai-gpu-group]', value: x}",
        "{set: 'metadata.annotations[pod-group-name]', value: x}"}) {
    const std::string yaml = patch_of("Pod", effect);
    EXPECT_EQ(crossing("Pod", yaml), crossing("Pod", "")) << effect;
    const auto refused = Template::load(yaml, "t.yaml", border_facts());
    ASSERT_FALSE(refused.has_value()) << effect;
    EXPECT_THAT(refused.error().message, HasSubstr("cannot be written by a patch: ")) << effect;
  }
}

TEST(BorderFacts, WhatIsJudgedTooLateCannotBeFrozen) {
  for (const std::string_view kind : border_facts().patched_kinds) {
    const auto loaded = Template::load(patch_of(kind, "{freeze: 'metadata.annotations[a]'}"), "t.yaml", border_facts());
    const bool late = std::ranges::find(border_facts().judged_late, kind) != border_facts().judged_late.end();
    EXPECT_EQ(loaded.has_value(), !late) << kind;
    if (!loaded) {
      EXPECT_THAT(loaded.error().message,
                  HasSubstr(".effects[0].freeze: nothing of " + std::string(kind) + " objects can be frozen: "));
    }
  }
}

TEST(BorderFacts, PatchesThatActAreAccepted) {
  for (const char* effect :
       {"{set: 'metadata.labels[kai.scheduler/queue]', value: q}", "{set: spec.schedulerName, value: kai-scheduler}",
        "{remove: metadata.finalizers}", "{set: 'metadata.annotations[a/b]', value: c}"})
    EXPECT_TRUE(Template::load(patch_of("Pod", effect), "t.yaml", border_facts()).has_value()) << effect;
}

}  // namespace
}  // namespace sublet::syncer
