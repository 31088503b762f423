// Types compiled at run time go through every pass as the built-in ones do.
#include "sublet/schema/table_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schema/conformed_testing.h"
#include "sublet/schema/engine.h"
#include "sublet/schema/registry.h"

namespace sublet::schema {
namespace {

using testing::ElementsAre;

/// A Widget as a CRD might declare it.
std::shared_ptr<const Table> widgets() {
  TableBuilder builder;
  const StructRef port =
      builder.add_struct({"com.example.v1.WidgetPort",
                          false,
                          false,
                          {{.name = "name", .required = true},
                           {.name = "number", .scalar = Scalar::int32, .default_json = "80"},
                           {.name = "protocol", .enum_values = {"TCP", "UDP"}, .default_json = "\"TCP\""}}});
  const StructRef options = builder.add_struct(
      {"com.example.v1.WidgetOptions", false, true, {{.name = "size", .scalar = Scalar::int64}, {.name = "color"}}});
  const StructRef spec = builder.add_struct({"com.example.v1.WidgetSpec",
                                             false,
                                             false,
                                             {{.name = "title"},
                                              {.name = "ports",
                                               .scalar = Scalar::message,
                                               .type = port,
                                               .shape = Shape::list,
                                               .list_type = ListType::map,
                                               .list_map_keys = {"name"},
                                               .patch_strategy = PatchStrategy::merge,
                                               .patch_merge_key = "name"},
                                              {.name = "tags", .shape = Shape::list},
                                              {.name = "limits", .scalar = Scalar::quantity, .shape = Shape::map},
                                              {.name = "options", .scalar = Scalar::message, .type = options},
                                              {.name = "free", .scalar = Scalar::json}}});
  const StructRef widget =
      builder.add_object("com.example.v1.Widget", {{.name = "spec", .scalar = Scalar::message, .type = spec}});
  builder.add_resource({.group = "example.com",
                        .version = "v1",
                        .resource = "widgets",
                        .kind = "Widget",
                        .list_kind = "WidgetList",
                        .singular = "widget",
                        .type = widget,
                        .storage_version = "v1",
                        .short_names = {"wg"},
                        .subresources = {{"status", "example.com", "v1", "Widget", {"update", "get"}}}});
  auto table = builder.build();
  EXPECT_TRUE(table);
  return *table;
}

Type type_of(const Table& table, std::string_view kind) {
  for (std::size_t i = 0; i < table.kind_count(); ++i)
    if (table.kind_at(i).kind == kind) return table.kind_at(i).type;
  return {};
}

TEST(TableBuilder, HandlesAnswerAsTheBuiltInOnesDo) {
  const auto table = widgets();
  const Type widget = type_of(*table, "Widget");
  EXPECT_EQ(widget.name(), "com.example.v1.Widget");
  EXPECT_EQ(widget.field("kind")->name(), "kind");
  EXPECT_EQ(widget.field("metadata")->type(),
            Registry::builtin()->find_type("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"));
  const Type spec = widget.field("spec")->type();
  EXPECT_THAT(spec.field("ports")->list_map_keys(), ElementsAre("name"));
  EXPECT_THAT(spec.field("ports")->type().field("protocol")->enum_values(), ElementsAre("TCP", "UDP"));
  EXPECT_TRUE(spec.field("tags")->enum_values().empty());
  EXPECT_TRUE(spec.field("options")->type().open());
  EXPECT_FALSE(spec.open());
  EXPECT_EQ(type_of(*table, "WidgetList").field("items")->type(), widget);
}

TEST(TableBuilder, WhatAClientSentIsKeptAsItIs) {
  const auto table = widgets();
  const Type widget = type_of(*table, "Widget");
  EXPECT_EQ(conformed(R"({"spec":{"title":"","tags":[],"options":{}},"kind":"Widget"})", widget),
            R"({"kind":"Widget","spec":{"title":"","tags":[],"options":{}}})");
  EXPECT_EQ(conformed(R"({"metadata":{"labels":{"b":"1","a":"2"},"name":"x"}})", widget),
            R"({"metadata":{"name":"x","labels":{"a":"2","b":"1"}}})");
}

TEST(TableBuilder, UnknownFieldsGoUnlessTheStructIsOpen) {
  const auto table = widgets();
  DecodeNotes notes;
  EXPECT_EQ(conformed(R"({"spec":{"nope":1,"options":{"z":[1,{"y":null}],"size":3,"a":"b"},"free":{"b":1,"a":[]}}})",
                      type_of(*table, "Widget"), &notes),
            R"({"spec":{"options":{"size":3,"z":[1,{"y":null}],"a":"b"},"free":{"b":1,"a":[]}}})");
  EXPECT_THAT(notes.unknown_fields, ElementsAre("spec.nope"));
}

TEST(TableBuilder, WrongTypesAreNamedInUpstreamsWords) {
  const auto table = widgets();
  EXPECT_EQ(conformed(R"({"spec":{"ports":[{"name":1}]}})", type_of(*table, "Widget")),
            "json: cannot unmarshal number into Go struct field WidgetPort.spec.ports.name of type string");
  EXPECT_EQ(conformed(R"({"spec":{"limits":{"cpu":"1000m"}}})", type_of(*table, "Widget")),
            R"({"spec":{"limits":{"cpu":"1"}}})");
}

TEST(TableBuilder, DefaultsKeepOpenMembersAndFillWhatIsMissing) {
  const auto table = widgets();
  auto document = decode_json(R"({"spec":{"ports":[{"name":"a"},{"name":"b","number":0}],"options":{"more":true}}})",
                              type_of(*table, "Widget"));
  ASSERT_TRUE(document);
  apply_table_defaults(document->root(), type_of(*table, "Widget"));
  EXPECT_EQ(document->root().to_json(),
            R"({"spec":{"ports":[{"name":"a","number":80,"protocol":"TCP"},{"name":"b","number":0,"protocol":"TCP"}],)"
            R"("options":{"more":true}}})");
}

TEST(TableBuilder, StructureIsValidated) {
  const auto table = widgets();
  auto document = decode_json(R"({"spec":{"ports":[{"name":"a","protocol":"ICMP"},{"name":"a"},{"number":1}]}})",
                              type_of(*table, "Widget"));
  ASSERT_TRUE(document);
  std::vector<Cause> causes;
  validate_structure(document->root(), type_of(*table, "Widget"), "", causes);
  ASSERT_EQ(causes.size(), 3u);
  EXPECT_EQ(causes[0].field, "spec.ports[0].protocol");
  EXPECT_EQ(causes[1].field, "spec.ports[2].name");
  EXPECT_EQ(causes[2], (Cause{"FieldValueDuplicate", "Duplicate value: \"a\"", "spec.ports[1].name"}));
}

TEST(TableBuilder, TablesAndTheirPlansEndWithTheirOwner) {
  for (int i = 0; i < 3; ++i) {
    const auto table = widgets();
    EXPECT_EQ(conformed(R"({"spec":{"title":"x"}})", type_of(*table, "Widget")), R"({"spec":{"title":"x"}})");
  }
}

TEST(Registry, MergesTablesBehindTheBuiltInKinds) {
  auto made = Registry::with({KindSet(widgets())});
  ASSERT_TRUE(made);
  const Registry& registry = **made;
  const ResourceFacts* facts = registry.find_resource("example.com", "v1", "widgets");
  ASSERT_NE(facts, nullptr);
  EXPECT_TRUE(facts->custom);
  EXPECT_TRUE(facts->has_status);
  EXPECT_THAT(facts->subresources[0].verbs, ElementsAre("get", "update"));
  EXPECT_EQ(&registry.storage_of(*facts), facts);
  EXPECT_EQ(registry.find_resource_of_kind("example.com", "v1", "Widget"), facts);
  EXPECT_EQ(registry.find_kind("example.com", "v1", "Widget"), facts->type);
  EXPECT_EQ(registry.find_kind("example.com", "v1", "DeleteOptions"), registry.find_kind("", "v1", "DeleteOptions"));
  EXPECT_EQ(registry.find_type("com.example.v1.WidgetSpec"), facts->type.field("spec")->type());
  EXPECT_EQ(registry.groups().back().name, "example.com");
  EXPECT_THAT(registry.groups().back().served, ElementsAre("v1"));
  EXPECT_EQ(registry.resources().size(), Registry::builtin()->resources().size() + 1);
  EXPECT_EQ(Registry::builtin()->find_resource("example.com", "v1", "widgets"), nullptr);
  EXPECT_EQ(registry.kind_at(registry.kind_count() - 1).kind, "WidgetList");
}

TEST(Registry, ServesBesideTheDefaultWhatItIsAskedFor) {
  const auto made = Registry::with({KindSet(widgets())}, {"scheduling.k8s.io/v1alpha2"});
  ASSERT_TRUE(made);
  const auto served_of = [](const Registry& registry, std::string_view name) {
    return std::ranges::find(registry.groups(), name, &GroupFacts::name)->served;
  };
  EXPECT_TRUE((*made)->find_resource("scheduling.k8s.io", "v1alpha2", "podgroups")->served);
  EXPECT_TRUE((*made)->find_resource("scheduling.k8s.io", "v1alpha2", "workloads")->served);
  EXPECT_THAT(served_of(**made, "scheduling.k8s.io"), ElementsAre("v1", "v1alpha2")) << "the first is preferred";
  EXPECT_FALSE((*made)->find_resource("coordination.k8s.io", "v1alpha2", "leasecandidates")->served);
  EXPECT_THAT((*made)->also_served(), ElementsAre("scheduling.k8s.io/v1alpha2"));
  EXPECT_THAT(served_of(*Registry::builtin(), "scheduling.k8s.io"), ElementsAre("v1"));
  for (const char* none : {"scheduling.k8s.io/v9", "scheduling.k8s.io", "nobody/v1", ""})
    EXPECT_FALSE(Registry::with({}, {none})) << none;
}

TEST(Registry, RefusesAKindThatIsThereAlready) {
  auto made = Registry::with({KindSet(widgets()), KindSet(widgets())});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().message, "two kinds are called widgets in example.com/v1");
}

/// A room's column: built-in kinds by a constant row, others by what was given.
struct Greeting {
  std::string_view text;
  static const Greeting* row_of(const ResourceFacts& facts) {
    static constexpr Greeting kPods{"hello pods"};
    return facts.resource == "pods" ? &kPods : nullptr;
  }
};

struct OwnGreeting : Greeting {
  explicit OwnGreeting(std::string text_) : own(std::move(text_)) { text = own; }
  ~OwnGreeting() { ++ended; }
  OwnGreeting(const OwnGreeting&) = delete;
  std::string own;
  static inline int ended = 0;
};

TEST(Registry, ColumnsHoldRowsAndObjectsThatLiveAsLongAsTheSnapshot) {
  OwnGreeting::ended = 0;
  {
    KindSet set(widgets());
    set.put<Greeting>("example.com", "v1", "widgets", std::make_shared<const OwnGreeting>("hello widgets"));
    auto made = Registry::with({std::move(set)});
    ASSERT_TRUE(made);
    const Registry& registry = **made;
    EXPECT_EQ(registry.entry<Greeting>(*registry.find_resource("", "v1", "pods"))->text, "hello pods");
    EXPECT_EQ(registry.entry<Greeting>(*registry.find_resource("", "v1", "nodes")), nullptr);
    EXPECT_EQ(registry.entry<Greeting>(*registry.find_resource("example.com", "v1", "widgets"))->text, "hello widgets");
    EXPECT_EQ(OwnGreeting::ended, 0);
  }
  EXPECT_EQ(OwnGreeting::ended, 1);
}

/// A part is made once per snapshot.
struct Counted {
  explicit Counted(const Registry& registry) : kinds(registry.kind_count()) { ++made; }
  std::size_t kinds;
  static inline int made = 0;
};

TEST(Registry, PartsAreMadeOncePerSnapshot) {
  Counted::made = 0;
  auto registry = Registry::with({KindSet(widgets())});
  ASSERT_TRUE(registry);
  EXPECT_EQ(&(*registry)->part<Counted>(), &(*registry)->part<Counted>());
  EXPECT_EQ((*registry)->part<Counted>().kinds, Registry::builtin()->kind_count() + 2);
  EXPECT_NE(&(*registry)->part<Counted>(), &Registry::builtin()->part<Counted>());
  EXPECT_EQ(Counted::made, 2);
}

}  // namespace
}  // namespace sublet::schema
