#include "sublet/base/files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>

#include "base/durable_writes_testing.h"

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

TEST_F(Files, AWrittenFileIsOnTheDiskBeforeItsNameAndItsNameBeforeTheReturn) {
  testing_support::DurableWrites writes;
  ASSERT_TRUE(write_private_file(folder_ + "/key", "one"));
  EXPECT_THAT(writes.calls(),
              testing::ElementsAre("sync " + folder_ + "/key.*", "rename " + folder_ + "/key", "sync " + folder_));
}

TEST_F(Files, AMadeFolderIsOnTheDiskBeforeTheReturn) {
  testing_support::DurableWrites writes;
  ASSERT_TRUE(make_private_folder(folder_ + "/a/b"));
  EXPECT_THAT(writes.calls(), testing::ElementsAre("sync " + folder_, "sync " + folder_ + "/a"));
  ASSERT_TRUE(make_private_folder(folder_ + "/a/b"));
  EXPECT_EQ(writes.calls().size(), 2u) << "synced what was there";
}

TEST_F(Files, ASyncThatFailsIsAFailure) {
  testing_support::DurableWrites writes;
  ASSERT_TRUE(write_private_file(folder_ + "/key", "one"));
  writes.fail_sync_of(folder_ + "/key.*");
  EXPECT_FALSE(write_private_file(folder_ + "/key", "two"));
  EXPECT_EQ(read_file(folder_ + "/key").value(), "one");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1) << "a temporary file was left behind";
  writes.fail_sync_of(folder_);
  const auto written = write_private_file(folder_ + "/key", "three");
  ASSERT_FALSE(written) << "a rename that a crash may undo was told as done";
  EXPECT_NE(written.error().message.find("cannot sync the folder " + folder_), std::string::npos);
  EXPECT_FALSE(make_private_folder(folder_ + "/a"));
}

TEST_F(Files, AReplacedFileKeepsItsMode) {
  ASSERT_TRUE(write_private_file(folder_ + "/file", "one"));
  fs::permissions(folder_ + "/file", fs::perms(0640));
  struct stat before {};
  ASSERT_EQ(::stat((folder_ + "/file").c_str(), &before), 0);
  ASSERT_TRUE(replace_file(folder_ + "/file", "two", &before));
  EXPECT_EQ(mode(folder_ + "/file"), 0640u);
  ASSERT_TRUE(write_private_file(folder_ + "/file", "three"));
  EXPECT_EQ(mode(folder_ + "/file"), 0600u);
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
