#include "controllers/garbage/verdict.h"

#include <gtest/gtest.h>

namespace sublet::controllers {
namespace {

TEST(Verdict, FollowsFromTheOwners) {
  using enum OwnerState;
  struct Case {
    std::vector<OwnerState> owners;
    bool owns_others;
    Verdict verdict;
  };
  const Case cases[] = {{{}, false, Verdict::keep},
                        {{solid}, false, Verdict::keep},
                        {{solid, absent}, false, Verdict::drop_owners},
                        {{solid, waits}, true, Verdict::drop_owners},
                        {{absent}, true, Verdict::remove},
                        {{absent, absent}, false, Verdict::remove},
                        {{waits}, false, Verdict::remove},
                        {{waits, absent}, true, Verdict::remove_in_foreground},
                        {{unknown, absent}, false, Verdict::keep}};
  for (const auto& c : cases) EXPECT_EQ(judge(c.owners, c.owns_others), c.verdict) << c.owners.size();
}

}  // namespace
}  // namespace sublet::controllers
