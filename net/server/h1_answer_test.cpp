#include "net/server/h1_answer.h"

#include <gtest/gtest.h>

#include "net/server/serving_loop.h"
#include "net/socket/output_queue.h"

namespace sublet::net {
namespace {

/// Drains its answer whenever it is told to, as H1Connection and its successor do.
struct Place final : ServerConnection {
  void flush_answers() override {
    if (!answer) return;
    OutputQueue nothing;
    aborted = aborted || answer->drain(nothing).aborted;
  }
  void finish() override {}
  void close() override {}
  std::shared_ptr<H1Answer> answer;  // null: it has given its connection away
  bool aborted = false;
};

class H1AnswerTest : public testing::Test {
 protected:
  ~H1AnswerTest() override { core_->forget_loop(); }
  /// What has been posted so far.
  void run_posted() {
    loop_.post([this] { loop_.stop(); });
    loop_.run();
  }
  Loop loop_;
  const std::shared_ptr<ServingLoop> core_ = std::make_shared<ServingLoop>(loop_, nullptr, HttpServerLimits{});
};

// Another thread may abort at any moment, also after the 101 has been drained and before the connection has another
// place: that one is told.
TEST_F(H1AnswerTest, AnAbortBetweenTheLastDrainAndTheMoveReachesTheNewPlace) {
  const auto before = std::make_shared<Place>(), after = std::make_shared<Place>();
  const auto answer = std::make_shared<H1Answer>(core_, before, H1Answer::Shape{});
  answer->upgrade({}, [](const std::shared_ptr<Duplex>&) {});
  OutputQueue output;
  ASSERT_TRUE(answer->drain(output).upgraded);
  answer->abort();
  after->answer = answer;
  answer->move_to(after);
  run_posted();
  EXPECT_TRUE(after->aborted);
  answer->close();  // it and its place hold each other until then
}

TEST_F(H1AnswerTest, AnAbortAfterTheMoveDoesToo) {
  const auto before = std::make_shared<Place>(), after = std::make_shared<Place>();
  const auto answer = std::make_shared<H1Answer>(core_, before, H1Answer::Shape{});
  answer->upgrade({}, [](const std::shared_ptr<Duplex>&) {});
  OutputQueue output;
  ASSERT_TRUE(answer->drain(output).upgraded);
  after->answer = answer;
  answer->move_to(after);
  answer->abort();
  run_posted();
  EXPECT_TRUE(after->aborted);
  answer->close();  // it and its place hold each other until then
}

}  // namespace
}  // namespace sublet::net
