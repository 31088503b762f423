// A disk that is really full: a small tmpfs in a mount namespace of a child process. Skipped where that is not allowed.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include "store/store_testing.h"
#include "sublet/store/sqlite_log.h"

namespace sublet::store {
namespace {

using testing_support::TempFolder;

constexpr int kNotAllowed = 77;

using Written = std::vector<std::pair<std::string, Revision>>;
const std::string kLarge(8000, 'x');

std::unique_ptr<Store> open_store(const std::string& path) {
  StoreOptions options;
  options.full_probe = std::chrono::milliseconds(0);
  return std::move(*Store::open(std::move(*open_sqlite_log({path})), options));
}

/// Writes until nothing fits; the refusal.
Status fill(Store& store, Written& written) {
  for (int i = 0; i < 100'000; ++i) {
    const std::string key = "k" + std::to_string(i);
    auto put = testing_support::put(store, key, kLarge);
    if (!put) return put.error();
    written.emplace_back(key, *put);
  }
  return fail(Reason::internal_error, "the disk never got full").value();
}

/// What is wrong; empty when all went as promised.
std::string live_through_a_full_disk(const std::string& path) {
  auto store = open_store(path);
  const std::string& large = kLarge;
  Written written;
  const Status refusal = fill(*store, written);
  if (refusal.reason != Reason::too_many_requests) return "refused with: " + refusal.message;
  if (!store->stats().read_only) return "it does not say that it is read-only";
  if (written.size() < 200) return "full after only " + std::to_string(written.size());
  // Every second object goes, one commit each, although nothing else fits.
  for (std::size_t i = 0; i < written.size(); i += 2)
    if (auto gone = store->commit(testing_support::remove(written[i].first, written[i].second)); !gone)
      return "delete " + std::to_string(i) + ": " + gone.error().message;
  // Their space serves new writes once their history is gone.
  if (auto compacted = store->compact(store->snapshot().revision()); !compacted)
    return "compaction: " + compacted.error().message;
  for (std::size_t i = 0; i < written.size() / 8; ++i)
    if (auto put = testing_support::put(*store, "new" + std::to_string(i), large); !put)
      return "write " + std::to_string(i) + " after the compaction: " + put.error().message;
  if (store->stats().read_only) return "still read-only";
  const Revision last = store->snapshot().revision();
  const std::size_t objects = store->snapshot().count("");
  store.reset();
  auto log = open_sqlite_log({path});
  if (!log) return log.error().message;
  auto again = Store::open(std::move(*log));
  if (!again) return again.error().message;
  return (*again)->snapshot().revision() == last && (*again)->snapshot().count("") == objects ? ""
                                                                                              : "not the same again";
}

/// Objects that go as pods do, by writes: marked, their status written, then deleted. All of them, which is many times
/// what is kept in reserve.
std::string delete_gracefully_on_a_full_disk(const std::string& path) {
  auto store = open_store(path);
  Written written;
  if (const Status refusal = fill(*store, written); refusal.reason != Reason::too_many_requests)
    return "refused with: " + refusal.message;
  for (auto& [key, revision] : written) {
    for (const char* what : {"mark", "status"}) {
      Txn txn = testing_support::update(key, revision, kLarge + what);
      txn.ops[0].of_deletion = true;
      const auto going = store->commit(txn);
      if (!going) return std::string(what) + " of " + key + " refused: " + going.error().message;
      revision = going->revisions[0];
    }
    if (auto gone = store->commit(testing_support::remove(key, revision)); !gone)
      return "delete of " + key + " refused: " + gone.error().message;
  }
  if (!store->stats().read_only) return "no longer read-only, although nothing but deletions was written";
  if (auto put = testing_support::put(*store, "new", kLarge); !put)
    return "no room for a write: " + put.error().message;
  return "";
}

using Story = std::string (*)(const std::string& path);

int run_on_small_disk(const std::string& folder, Story story) {
  if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      ::mount("tmpfs", folder.c_str(), "tmpfs", 0, "size=48m") != 0)
    return kNotAllowed;
  const std::string problem = story(folder + "/state.db");
  if (!problem.empty()) std::fprintf(stderr, "%s\n", problem.c_str());
  return problem.empty() ? 0 : 1;
}

void expect_on_small_disk(Story story) {
  const TempFolder folder;
  const pid_t child = ::fork();
  if (child == 0) ::_exit(run_on_small_disk(folder.path(), story));
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << status;
  if (WEXITSTATUS(status) == kNotAllowed) GTEST_SKIP() << "mounting is not allowed here";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(SmallDisk, WritesAreRefusedDeletesPassAndSpaceComesBack) { expect_on_small_disk(live_through_a_full_disk); }
TEST(SmallDisk, AllCanBeDeletedGracefully) { expect_on_small_disk(delete_gracefully_on_a_full_disk); }

}  // namespace
}  // namespace sublet::store
