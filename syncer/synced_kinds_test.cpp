// The table of synced kinds is whole, and what is read off it is right.
#include "syncer/border/synced_kinds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "sublet/base/files.h"
#include "sublet/syncer/carried_kinds.h"
#include "sublet/syncer/host_footprint.h"
#include "sublet/syncer/mirrored_kinds.h"
#include "syncer/synced_kinds_page.h"
#include "syncer/translate/field_table.h"
#include "tests/support/source_path.h"

namespace sublet::syncer {
namespace {

bool may(const SyncedKind& kind, std::string_view verb) {
  return (" " + std::string(kind.host_verbs) + " ").find(" " + std::string(verb) + " ") != std::string::npos;
}

TEST(SyncedKinds, EveryRowSaysAllThatItsDirectionNeeds) {
  std::set<std::string_view> names;
  for (const SyncedKind& kind : synced_kinds()) {
    EXPECT_TRUE(names.insert(kind.kind).second) << kind.kind;
    EXPECT_NE(kind.reconcile, nullptr) << kind.kind;
    for (const std::string_view text : {kind.crosses, kind.host_allocates, kind.wins, kind.status})
      EXPECT_FALSE(text.empty()) << kind.kind;
    EXPECT_EQ(kind.watch_host != nullptr, kind.host_copy != HostCopy::none) << kind.kind;
    EXPECT_TRUE(!kind.watch_host || (may(kind, "list") && may(kind, "watch"))) << kind.kind;
    // What is made on the host must go again.
    EXPECT_EQ(may(kind, "create"), kind.swept) << kind.kind;
    EXPECT_EQ(may(kind, "delete"), kind.swept) << kind.kind;
    EXPECT_EQ(kind.direction == Direction::to_host, kind.swept) << kind.kind;
    EXPECT_TRUE(kind.status_rows.empty() || plan_of(kind.status_rows) != nullptr) << kind.kind;
    EXPECT_TRUE(kind.reconcile != reconcile_mirror || plan_of(kind.kind) != nullptr) << kind.kind;
    EXPECT_EQ(kind.next_step.empty(), kind.reconcile != reconcile_mirror && kind.reconcile != reconcile_mapped)
        << kind.kind;
    if (kind.reconcile == reconcile_copied || kind.reconcile == reconcile_used) {
      EXPECT_NE(find_host_kind(kind.kind), nullptr) << kind.kind;
      EXPECT_NE(kind.patch_content, nullptr) << kind.kind;
    }
  }
  // Whatever translation knows is also carried.
  for (const HostKind& kind : host_kinds()) EXPECT_TRUE(names.contains(kind.kind)) << kind.kind;
}

TEST(SyncedKinds, ASweepTakesWhatRunsBeforeWhatItUsesAndEachResourceOnce) {
  std::vector<std::string> order;
  for (const Swept& swept : swept_from_host({})) order.push_back(swept.resource.resource);
  EXPECT_EQ(order, (std::vector<std::string>{"pods", "services", "configmaps", "secrets", "persistentvolumeclaims",
                                             "endpoints", "endpointslices"}));
  EXPECT_TRUE(swept_from_host({}).front().ends_with_grace);
}

TranslateContext sync_context(std::string_view config) {
  TranslateContext context;
  const auto loaded = patches::Template::load("sync: " + std::string(config) + "\n", "t.yaml");
  EXPECT_TRUE(loaded) << loaded.error().message;
  context.resolved_template = loaded ? loaded->resolve({}, "rag", "team").value_or(nullptr) : nullptr;
  return context;
}

TEST(SyncedKinds, WhatATemplateAsksForIsSweptAndCarriedToo) {
  const auto context = sync_context("{toHost: {priorityClasses: {enabled: true}, endpoints: {enabled: false}}}");
  std::string swept, carried;
  for (const Swept& one : swept_from_host(context)) swept += one.resource.resource + (one.in_cluster ? "! " : " ");
  EXPECT_EQ(swept, "pods services configmaps secrets persistentvolumeclaims endpointslices priorityclasses! ");
  for (const CarriedKind& one : carried_kinds(context)) carried += one.kind + (one.judged ? "? " : " ");
  EXPECT_EQ(carried, "Pod? Service? ConfigMap Secret PersistentVolumeClaim? EndpointSlice PriorityClass ");
}

TEST(SyncedKinds, WhatNobodyJudgesWhenItIsWrittenIsSaidToTemplatesToo) {
  int late = 0;
  for (const SyncedKind& kind : synced_kinds({})) {
    const HostKind* const host_kind =
        kind.direction == Direction::to_host ? find_host_kind(kind.translated_as()) : nullptr;
    if (host_kind == nullptr) continue;
    EXPECT_EQ(host_kind->judged_late, !kind.judged) << kind.kind;
    late += host_kind->judged_late;
  }
  EXPECT_GE(late, 4);
}

TEST(SyncedKinds, RightsAreThoseOfTheTableAndNoMore) {
  std::string text;
  for (const HostRight& right : host_rights({})) {
    text += right.group + "/" + right.resource + (right.cluster_wide ? " everywhere" : "");
    for (const std::string& verb : right.verbs) text += " " + verb;
    text += "\n";
  }
  EXPECT_EQ(text,
            "/pods get list watch create patch delete\n"
            "/pods/log get\n"
            "/pods/exec get create\n"
            "/pods/attach get create\n"
            "/pods/portforward get create\n"
            "/pods/proxy get create update patch delete\n"
            "/pods/ephemeralcontainers patch\n"
            "/pods/resize patch\n"
            "metrics.k8s.io/pods get list\n"
            "/services get list watch create patch delete\n"
            "/configmaps get list watch create patch delete\n"
            "/secrets get list watch create patch delete\n"
            "/persistentvolumeclaims get list watch create patch delete\n"
            "/endpoints get list watch create patch delete\n"
            "discovery.k8s.io/endpointslices get list watch create patch delete\n"
            "/events list watch\n"
            "/nodes everywhere list watch\n"
            "metrics.k8s.io/nodes everywhere get list\n"
            "node.k8s.io/runtimeclasses everywhere list watch\n");
}

std::vector<std::string> mirrored_resources(const TranslateContext& context) {
  std::vector<std::string> resources;
  for (const MirroredKind& kind : mirrored_kinds(context)) resources.push_back(kind.resource.resource);
  return resources;
}

TEST(SyncedKinds, AKindThatTheTemplateSwitchesOffIsNotMirrored) {
  using Resources = std::vector<std::string>;
  EXPECT_EQ(mirrored_resources({}), (Resources{"nodes", "runtimeclasses"}));
  const auto from_host = [&](const std::string& config) {
    return mirrored_resources(sync_context("{fromHost: " + config + "}"));
  };
  EXPECT_EQ(from_host("{}"), (Resources{"nodes", "runtimeclasses"}));
  EXPECT_EQ(from_host("{nodes: {enabled: false}}"), Resources{"runtimeclasses"});
  EXPECT_EQ(from_host("{runtimeClasses: {enabled: false}}"), Resources{"nodes"});
  EXPECT_EQ(from_host("{storageClasses: {enabled: true}}"), (Resources{"nodes", "runtimeclasses", "storageclasses"}));
}

TEST(SyncedKinds, CustomResourcesOfTheTemplateAreRowsAsOthers) {
  TranslateContext context = sync_context(
      "{toHost: {customResources: {widgets.example.com: {enabled: true}, gone.example.com: {enabled: false}}}, "
      "fromHost: {gatewayClasses: {enabled: true}}}");
  std::string rights;
  for (const HostRight& right : host_rights(context)) {
    if (right.group != "example.com" && right.group != "apiextensions.k8s.io" &&
        right.group != "gateway.networking.k8s.io")
      continue;
    rights += right.group + "/" + right.resource + (right.cluster_wide ? " everywhere" : "");
    for (const std::string& verb : right.verbs) rights += " " + verb;
    for (const std::string& name : right.names) rights += " =" + name;
    rights += "\n";
  }
  EXPECT_EQ(rights,
            "apiextensions.k8s.io/customresourcedefinitions everywhere get list watch =widgets.example.com "
            "=gatewayclasses.gateway.networking.k8s.io\n"
            "example.com/widgets get list watch create patch delete\n"
            "gateway.networking.k8s.io/gatewayclasses everywhere list watch\n");
  const auto carried = carried_kinds(context);
  const auto widgets = std::ranges::find(carried, "widgets.example.com", &CarriedKind::kind);
  ASSERT_NE(widgets, carried.end());
  EXPECT_TRUE(widgets->judged) << "its tenant is told at once";
  EXPECT_EQ(widgets->resource.resource, "widgets");
  using Resources = std::vector<std::string>;
  EXPECT_EQ(mirrored_resources(context),
            (Resources{"customresourcedefinitions", "gatewayclasses", "nodes", "runtimeclasses"}));
  const auto sweeps = [&] {
    return std::ranges::any_of(swept_from_host(context),
                               [](const Swept& one) { return one.resource.resource == "widgets"; });
  };
  EXPECT_FALSE(sweeps()) << "the host does not serve it";
  context.served_kinds["widgets.example.com"] = {"v2", "Widget", true};
  EXPECT_TRUE(sweeps());
}

TEST(SyncedKinds, WhatTheHostDoesNotServeIsNeitherWatchedNorSwept) {
  TranslateContext context = sync_context("{toHost: {podGroups: {enabled: true}, workloads: {enabled: true}}}");
  const auto sweeps = [&](std::string_view resource) {
    return std::ranges::any_of(swept_from_host(context),
                               [&](const Swept& one) { return one.resource.resource == resource; });
  };
  EXPECT_TRUE(sweeps("podgroups"));
  context.unserved_kinds.emplace("PodGroup");
  EXPECT_FALSE(sweeps("podgroups"));
  EXPECT_TRUE(sweeps("workloads"));
  const auto carried = carried_kinds(sync_context("{toHost: {podGroups: {enabled: true}}}"));
  EXPECT_TRUE(std::ranges::find(carried, "PodGroup", &CarriedKind::kind)->judged) << "its tenant is told at once";
  EXPECT_EQ(std::ranges::find(carried, "Workload", &CarriedKind::kind), carried.end());
}

TEST(SyncedKinds, MappedObjectsGiveRightsInTheirNamespacesAlone) {
  const TranslateContext context = sync_context(
      R"({fromHost: {secrets: {enabled: true, mappings: {byName: {"shared/pull": "a/b", "shared/key": "a/c", )"
      R"("all/*": "d/*", "/own": "a/own", "": "d"}}}}})");
  std::string rights;
  for (const HostRight& right : host_rights(context)) {
    if (right.resource != "secrets") continue;
    rights += right.host_namespace + ":";
    for (const std::string& verb : right.verbs) rights += " " + verb;
    for (const std::string& name : right.names) rights += " =" + name;
    rights += "\n";
  }
  EXPECT_EQ(rights, "shared: get list watch =pull =key\nall: get list watch\n: get list watch create patch delete\n");
  EXPECT_EQ(mirrored_resources(context), (std::vector<std::string>{"secrets", "nodes", "runtimeclasses"}));
}

TEST(SyncedKinds, TheDocumentationIsTheTables) {
  const auto page = read_file(source_path("docs/synced-kinds.md"));
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_TRUE(*page == synced_kinds_page())
      << "docs/synced-kinds.md is not what the table says; make it anew: build/dev/bin/synced_kinds_page > "
         "docs/synced-kinds.md";
}

}  // namespace
}  // namespace sublet::syncer
