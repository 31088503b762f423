// vCluster's own e2e configurations (vcluster_e2e/): each is taken, or refused key by key with a reason that a person
// has read (expected.golden).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "sublet/base/files.h"
#include "sublet/patches/template.h"
#include "tests/support/source_path.h"

namespace sublet::patches {
namespace {

const std::string kE2eFolder = source_path("patches/template/vcluster_e2e");

std::vector<std::string> configurations() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kE2eFolder))
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

TEST(VClusterE2e, EachConfigurationIsTakenOrRefusedKeyByKey) {
  std::string told;
  const auto names = configurations();
  EXPECT_EQ(names.size(), 24u);
  for (const std::string& name : names) {
    const std::string yaml = read_file(kE2eFolder + "/" + name).value();
    std::vector<std::string> left_out;
    const auto lenient = Template::load(yaml, name, {}, &left_out);
    ASSERT_TRUE(lenient) << lenient.error().message;
    // Without --lenient nothing of it is taken, for the same reasons.
    const auto strict = Template::load(yaml, name);
    std::string reasons;
    for (const std::string& line : left_out) reasons += (reasons.empty() ? "" : "\n") + line;
    EXPECT_EQ(strict ? "" : strict.error().message, reasons) << name;
    EXPECT_EQ(reasons.find("unknown key"), std::string::npos) << "the file is right: " << reasons;
    told += reasons.empty() ? name + ": taken\n" : reasons + "\n";
  }
  if (const char* mode = std::getenv("SUBLET_GOLDEN"); mode && std::string_view(mode) == "write")
    std::ofstream(kE2eFolder + "/expected.golden") << told;
  EXPECT_EQ(told, read_file(kE2eFolder + "/expected.golden").value());
}

}  // namespace
}  // namespace sublet::patches
