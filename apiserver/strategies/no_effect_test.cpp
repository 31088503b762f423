// README says that a virtual cluster is like any other cluster but for docs/limits.md. So that page and the table
// agree.
#include "apiserver/strategies/no_effect.h"

#include <gtest/gtest.h>

#include "sublet/base/files.h"
#include "tests/support/source_path.h"

namespace sublet::apiserver {
namespace {

// The first column of the page's table, all rows.
std::string kinds_column() {
  const auto page = read_file(source_path("docs/limits.md"));
  EXPECT_TRUE(page);
  std::string column;
  for (std::size_t at = 0; page && (at = page->find("\n| ", at)) != std::string::npos; ++at)
    column += page->substr(at + 2, page->find(" |", at + 2) - at - 2) + "\n";
  return column;
}

// What people call some of them together.
std::string_view called(std::string_view kind) {
  if (kind.ends_with("WebhookConfiguration")) return "webhook configurations";
  if (kind.ends_with("AdmissionPolicy") || kind.ends_with("AdmissionPolicyBinding")) return "admission policies";
  return kind;
}

TEST(NoEffect, ThePageForPeopleNamesEveryKindThatIsWarnedOf) {
  const std::string column = kinds_column();
  ASSERT_FALSE(kinds_without_effect().empty());
  for (const auto kind : kinds_without_effect())
    EXPECT_NE(column.find(called(kind)), std::string::npos) << kind << " is not in docs/limits.md:\n" << column;
}

}  // namespace
}  // namespace sublet::apiserver
