#include "cli/output_table.h"

#include <gtest/gtest.h>

namespace sublet::cli {
namespace {

TEST(OutputTable, ColumnsAreAsWideAsTheirWidestCell) {
  OutputTable table({"NAME", "STATUS"});
  table.add_columns({"HOST"});
  table.add_row({"a", "Running", "embedded"});
  table.add_row({"longer-name", "", ""});
  EXPECT_EQ(table.text(),
            "NAME          STATUS    HOST\n"
            "a             Running   embedded\n"
            "longer-name\n");
}

TEST(OutputTable, AgesAreKubectls) {
  using std::chrono::hours;
  using std::chrono::minutes;
  using std::chrono::seconds;
  EXPECT_EQ(age_text(seconds(-5)), "0s");
  EXPECT_EQ(age_text(seconds(119)), "119s");
  EXPECT_EQ(age_text(seconds(330)), "5m30s");
  EXPECT_EQ(age_text(minutes(90)), "90m");
  EXPECT_EQ(age_text(minutes(192)), "3h12m");
  EXPECT_EQ(age_text(hours(30)), "30h");
  EXPECT_EQ(age_text(hours(49)), "2d1h");
  EXPECT_EQ(age_text(hours(24 * 40)), "40d");
}

}  // namespace
}  // namespace sublet::cli
