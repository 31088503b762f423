#include "store/rows/row_pipe.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sublet::store {
namespace {

/// Rows 1, 2, 3 ... until `count` were put or the pipe wants no more; how many were put.
Revision put_rows(RowPipe& pipe, Revision count) {
  for (Revision n = 1; n <= count; ++n) {
    Row& row = pipe.next();
    row.revision = n;
    row.key.assign("key-" + std::to_string(n));
    if (!pipe.put()) return n;
  }
  return count;
}

TEST(RowPipe, VisitsAllInOrderHoweverManyThereAre) {
  for (const Revision count : {0, 1, 255, 256, 257, 10'000}) {
    Revision visited = 0;
    const RowPipe::Visit visit = [&](Row&& row) {
      EXPECT_EQ(row.revision, ++visited);
      EXPECT_EQ(std::exchange(row.key, {}), "key-" + std::to_string(visited));
      return Outcome();
    };
    RowPipe pipe(visit);
    EXPECT_EQ(put_rows(pipe, count), count);
    EXPECT_TRUE(pipe.finish());
    EXPECT_EQ(visited, count);
  }
}

TEST(RowPipe, FewRowsNeedNoOtherThread) {
  const RowPipe::Visit visit = [caller = std::this_thread::get_id()](Row&&) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    return Outcome();
  };
  RowPipe pipe(visit);
  put_rows(pipe, static_cast<Revision>(RowPipe::kBatchRows) - 1);
  EXPECT_TRUE(pipe.finish());
}

TEST(RowPipe, NothingIsVisitedBehindAFailureAndItIsTold) {
  for (const Revision bad : {1, 200, 256, 3'000, 10'000})
    for (const Revision count : {Revision{200}, Revision{10'000}, Revision{1'000'000}}) {
      if (bad > count) continue;
      Revision visited = 0;
      const RowPipe::Visit visit = [&](Row&& row) -> Outcome {
        ++visited;
        if (row.revision == bad) return fail(Reason::internal_error, "row " + std::to_string(bad) + " is bad");
        return {};
      };
      RowPipe pipe(visit);
      const Revision put = put_rows(pipe, count);
      const Outcome finished = pipe.finish();
      ASSERT_FALSE(finished);
      EXPECT_EQ(finished.error().message, "row " + std::to_string(bad) + " is bad");
      EXPECT_EQ(visited, bad);
      if (count == 1'000'000) {
        EXPECT_LT(put, count) << "who reads is told that it is in vain";
      }
    }
}

TEST(RowPipe, OneThatIsGivenUpEnds) {
  Revision visited = 0;
  const RowPipe::Visit visit = [&](Row&&) {
    ++visited;
    return Outcome();
  };
  {
    RowPipe pipe(visit);
    put_rows(pipe, 5'000);
  }
  EXPECT_LE(visited, 5'000);
}

}  // namespace
}  // namespace sublet::store
