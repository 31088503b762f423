// vCluster's own values.yaml, which sets every key: what sublet makes of each leaf, as vcluster_values.golden has it
// and docs/templates.md counts it. The numbers alone: patches_test --gtest_filter='VClusterValues.*'.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>

#include "patches/template/config_keys.h"
#include "sublet/base/files.h"
#include "sublet/patches/template.h"
#include "sublet/schema/engine.h"
#include "tests/support/source_path.h"

namespace sublet::patches {
namespace {

using schema::Value;

const std::string kTemplateFolder = source_path("patches/template/");

void add_leaves(const Value& value, const std::string& path, std::vector<std::string>& leaves) {
  if (!value.is_object() || value.empty()) return leaves.push_back(path);
  for (const Value member : value)
    add_leaves(member, (path.empty() ? "" : path + ".") + std::string(member.key()), leaves);
}

/// "values.yaml:1:2: a.b: cannot be true: why" by "a.b".
std::map<std::string, std::string> reasons_of(const std::vector<std::string>& left_out) {
  std::map<std::string, std::string> reasons;
  for (const std::string& line : left_out) {
    const std::size_t key = line.find(": ") + 2, reason = line.find(": ", key);
    reasons[line.substr(key, reason - key)] = line.substr(reason + 2);
  }
  return reasons;
}

/// Of the leaf, or of a key above it that is refused as a whole; null: it is accepted.
const std::string* refusal_of(std::string path, const std::map<std::string, std::string>& reasons) {
  for (;;) {
    if (const auto found = reasons.find(path); found != reasons.end()) return &found->second;
    const std::size_t dot = path.rfind('.');
    if (dot == path.npos) return nullptr;
    path.resize(dot);
  }
}

TEST(VClusterValues, EachLeafActsOrIsAlwaysSoOrAsksForNothingOrIsRefusedWithAReason) {
  const std::string text = read_file(kTemplateFolder + "vcluster_values_testing.yaml").value();
  const auto document = schema::parse_yaml(text);
  ASSERT_TRUE(document);
  std::vector<std::string> left_out, leaves;
  const auto loaded = Template::load(text, "values.yaml", {}, &left_out);
  ASSERT_TRUE(loaded) << loaded.error().message;
  add_leaves(document->root(), "", leaves);
  const auto reasons = reasons_of(left_out);
  std::map<std::string, int> counts;
  std::string told;
  for (const std::string& leaf : leaves) {
    static constexpr const char* kWords[] = {"acts", "always so", "asks for nothing"};
    const std::string* const refusal = refusal_of(leaf, reasons);
    const std::string verdict = refusal ? "refused" : kWords[static_cast<std::size_t>(acceptance_of(leaf))];
    ++counts[verdict];
    told += leaf + ": " + verdict + (refusal ? ": " + *refusal : "") + "\n";
    EXPECT_TRUE(!refusal || refusal->find("unknown key") == refusal->npos) << leaf;
  }
  std::string sums = std::to_string(leaves.size()) + " leaves";
  for (const auto& [verdict, count] : counts) sums += ", " + std::to_string(count) + " " + verdict;
  std::printf("%s\n", sums.c_str());
  told = sums + "\n" + told;
  EXPECT_EQ(leaves.size(), 424u);
  const std::string golden = kTemplateFolder + "vcluster_values.golden";
  if (const char* mode = std::getenv("SUBLET_GOLDEN"); mode && std::string_view(mode) == "write")
    std::ofstream(golden) << told;
  EXPECT_EQ(told, read_file(golden).value());
}

}  // namespace
}  // namespace sublet::patches
