#include "sublet/base/files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>

namespace sublet {
namespace {

namespace fs = std::filesystem;

class Files : public testing::Test {
 protected:
  Files() {
    std::string pattern = (fs::temp_directory_path() / "sublet-files-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~Files() override { fs::remove_all(folder_); }
  static unsigned mode(const std::string& path) {
    struct stat info {};
    return ::stat(path.c_str(), &info) == 0 ? info.st_mode & 07777 : 0;
  }
  std::string folder_;
};

TEST_F(Files, WritesPrivateAndWhole) {
  const std::string path = folder_ + "/key";
  ASSERT_TRUE(write_private_file(path, "one"));
  ASSERT_TRUE(write_private_file(path, std::string(100'000, 'x')));
  EXPECT_EQ(read_file(path).value().size(), 100'000u);
  EXPECT_EQ(mode(path), 0600u);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1) << "a temporary file was left behind";
}

TEST_F(Files, SaysWhyAFileCannotBeReadOrWritten) {
  EXPECT_TRUE(read_file(folder_ + "/none").error().is(Reason::not_found));
  const auto of_folder = read_file(folder_);
  ASSERT_FALSE(of_folder) << "a folder was read as an empty file";
  EXPECT_TRUE(of_folder.error().is(Reason::bad_request));
  EXPECT_NE(of_folder.error().message.find(folder_ + ": Is a directory"), std::string::npos);
  EXPECT_TRUE(write_private_file(folder_ + "/none/key", "x").error().is(Reason::not_found));
}

TEST_F(Files, FoldersArePrivateAlsoWhenTheyWereNot) {
  ASSERT_TRUE(make_private_folder(folder_ + "/a/b"));
  EXPECT_EQ(mode(folder_ + "/a"), 0700u);
  EXPECT_EQ(mode(folder_ + "/a/b"), 0700u);
  fs::permissions(folder_ + "/a", fs::perms::all);
  ASSERT_TRUE(make_private_folder(folder_ + "/a"));
  EXPECT_EQ(mode(folder_ + "/a"), 0700u);
  ASSERT_TRUE(write_private_file(folder_ + "/file", ""));
  EXPECT_FALSE(make_private_folder(folder_ + "/file/x"));
}

}  // namespace
}  // namespace sublet
