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

/// Something else on the disk takes all that is left.
void fill_the_rest(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  const std::string block(4096, 'x');
  while (file != nullptr && std::fwrite(block.data(), 1, block.size(), file) == block.size() &&
         std::fflush(file) == 0) {
  }
  if (file != nullptr) std::fclose(file);
}

/// A store that was filled, and then started on a disk without any space: by one that was closed, or killed.
std::string start_on_a_full_disk(const std::string& path, bool killed) {
  Written written;
  const auto live = [&] {
    auto store = open_store(path);
    for (int i = 0; i < 400; ++i) {
      const std::string key = "k" + std::to_string(i);
      written.emplace_back(key, *testing_support::put(*store, key, kLarge));
    }
    if (killed) ::_exit(0);
  };
  if (killed) {
    const pid_t child = ::fork();
    if (child == 0) live();
    int status = 0;
    ::waitpid(child, &status, 0);
    if (status != 0) return "the first life failed";
  } else {
    live();
  }
  const std::string rest = path + ".rest";
  fill_the_rest(rest);
  auto log = open_sqlite_log({path});
  if (!log) return "not opened: " + log.error().message;
  StoreOptions options;
  options.full_probe = std::chrono::milliseconds(0);
  auto opened = Store::open(std::move(*log), options);
  if (!opened) return "not started: " + opened.error().message;
  Store& store = **opened;
  if (store.snapshot().count("") != 400) return "not all is served";
  if (auto put = testing_support::put(store, "new", kLarge); put || put.error().reason != Reason::too_many_requests)
    return "a write is not refused because the disk is full";
  if (!store.stats().read_only || store.stats().poisoned) return "it does not say that it is read-only";
  if (killed) {  // which left its reserve: deletes pass
    const ObjectPtr first = store.snapshot().get("k0");
    if (auto gone = store.commit(testing_support::remove("k0", first->revision)); !gone)
      return "a delete is refused: " + gone.error().message;
  }
  ::unlink(rest.c_str());
  for (int i = 0; i < 50; ++i)
    if (auto put = testing_support::put(store, "new" + std::to_string(i), kLarge); !put)
      return "there is space again, but: " + put.error().message;
  const Revision last = store.snapshot().revision();
  opened->reset();
  return open_store(path)->snapshot().revision() == last ? "" : "not the same again";
}

std::string start_after_an_orderly_end(const std::string& path) { return start_on_a_full_disk(path, false); }
std::string start_after_a_kill(const std::string& path) { return start_on_a_full_disk(path, true); }

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

TEST(SmallDisk, AStoreThatWasClosedStartsAndIsRead) { expect_on_small_disk(start_after_an_orderly_end); }
TEST(SmallDisk, AStoreThatWasKilledStartsAndCanBeEmptied) { expect_on_small_disk(start_after_a_kill); }

}  // namespace
}  // namespace sublet::store
