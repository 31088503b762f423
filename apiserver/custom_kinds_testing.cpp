#include "apiserver/custom_kinds_testing.h"

#include <gtest/gtest.h>

#include "apiserver/printers/cells.h"
#include "apiserver/strategies/strategy.h"
#include "sublet/schema/table_builder.h"

namespace sublet::apiserver {
namespace {

using schema::Scalar;
using schema::Shape;
using schema::Value;

constexpr std::string_view kExampleGroup = "example.com";

/// A rule with state, as a CRD's compiled validation will be.
struct WidgetStrategy : Strategy {
  explicit WidgetStrategy(std::string title) : Strategy(custom_strategy()), forbidden(std::move(title)) {
    validate = decltype(validate)::bound<refuse_title>(*this);
  }
  WidgetStrategy(const WidgetStrategy&) = delete;

  static void refuse_title(const WidgetStrategy& self, const Value& object, std::vector<Cause>& causes) {
    if (object["spec"]["title"].text() == self.forbidden)
      causes.push_back({"FieldValueInvalid", "Invalid value: must not be " + self.forbidden, "spec.title"});
  }

  std::string forbidden;
};

struct WidgetPrinter : Printer {
  explicit WidgetPrinter(std::string name) : Printer{}, own_name(std::move(name)) {
    own_columns = {kNameColumn, {own_name, "string", "", "What it says"}};
    columns = own_columns;
    cells = decltype(cells)::bound<show>(*this);
  }
  WidgetPrinter(const WidgetPrinter&) = delete;

  static void show(const WidgetPrinter&, const Value& object, WallTime now, Value row) {
    Cells(object, now, row).name().text(object["spec"]["title"].text());
  }

  std::string own_name;
  std::vector<Column> own_columns;
};

void add_widgets(schema::TableBuilder& builder) {
  for (const std::string version : {"v1", "v1beta1"}) {
    const std::string prefix = "com.example." + version + ".Widget";
    const auto spec = builder.add_struct({.name = prefix + "Spec",
                                          .fields = {{.name = "title"},
                                                     {.name = "size", .scalar = Scalar::int64, .default_json = "3"},
                                                     {.name = "tags", .shape = Shape::list},
                                                     {.name = "mode", .enum_values = {"fast", "slow"}}}});
    const auto status = builder.add_struct({.name = prefix + "Status", .open = true});
    const auto widget = builder.add_object(prefix, {{.name = "spec", .scalar = Scalar::message, .type = spec},
                                                    {.name = "status", .scalar = Scalar::message, .type = status}});
    builder.add_resource(
        {.group = std::string(kExampleGroup),
         .version = version,
         .resource = "widgets",
         .kind = "Widget",
         .list_kind = "WidgetList",
         .singular = "widget",
         .type = widget,
         .storage_version = "v1",
         .short_names = {"wg"},
         .categories = {"all"},
         .subresources = {{"status", std::string(kExampleGroup), version, "Widget", {"get", "patch", "update"}}}});
  }
}

void add_sites(schema::TableBuilder& builder) {
  const auto site = builder.add_object("com.example.v1.Site", {{.name = "spec", .scalar = Scalar::json}});
  builder.add_resource({.group = std::string(kExampleGroup),
                        .version = "v1",
                        .resource = "sites",
                        .kind = "Site",
                        .list_kind = "SiteList",
                        .singular = "site",
                        .type = site,
                        .namespaced = false,
                        .storage_version = "v1"});
}

std::shared_ptr<const schema::Table> table_of(void (*add)(schema::TableBuilder& builder)) {
  schema::TableBuilder builder;
  add(builder);
  auto table = builder.build();
  EXPECT_TRUE(table);
  return *table;
}

}  // namespace

std::shared_ptr<const schema::Registry> custom_kinds(const std::string& forbidden_title, const std::string& column) {
  schema::KindSet widgets(table_of(add_widgets)), sites(table_of(add_sites));
  widgets.put<Strategy>(std::string(kExampleGroup), "", "widgets",
                        std::make_shared<const WidgetStrategy>(forbidden_title));
  widgets.put<Printer>(std::string(kExampleGroup), "", "widgets", std::make_shared<const WidgetPrinter>(column));
  auto made = schema::Registry::with({std::move(widgets), std::move(sites)});
  EXPECT_TRUE(made) << made.error().message;
  return *made;
}

}  // namespace sublet::apiserver
