#include "sublet/kube/account_token.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>

#include "sublet/base/files.h"

namespace sublet::kube {
namespace {

using std::chrono::minutes;
using testing::HasSubstr;

// Answers requests for tokens with "t1", "t2", ..., each good for an hour, as long as it knows the one that asks.
class Issuer {
 public:
  explicit Issuer(Clock& clock) : clock_(clock) {}
  std::shared_ptr<net::Transport> transport() {
    return net::make_in_process_transport(
        [this](net::Request request, std::shared_ptr<net::ResponseSink> sink) {
          asked.push_back(request.target + " " + std::string(request.headers.get("Authorization")));
          if (away) return sink->respond(503, {}, R"({"kind":"Status","message":"away"})");
          sink->respond(201, {},
                        R"({"status":{"token":"t)" + std::to_string(++issued_) + R"(","expirationTimestamp":")" +
                            format_time(clock_.now() + kAccountTokenLife) + "\"}}");
        },
        {});
  }
  std::vector<std::string> asked;  // read while nothing is asked
  bool away = false;

 private:
  Clock& clock_;
  int issued_ = 0;
};

class AccountTokenTest : public testing::Test {
 protected:
  AccountTokenTest() : issuer_(clock_) {
    char pattern[] = "/tmp/sublet-token-XXXXXX";
    folder_ = ::mkdtemp(pattern);
    file_ = folder_ + "/token.json";
  }
  ~AccountTokenTest() override { std::filesystem::remove_all(folder_); }
  AccountToken first() const { return {"t0", clock_.now(), clock_.now() + kAccountTokenLife}; }

  ManualClock clock_;
  Issuer issuer_;
  std::string folder_, file_;
};

TEST_F(AccountTokenTest, AFileKeepsItForItsOwnerAlone) {
  ASSERT_TRUE(save_account_token(file_, first()));
  struct stat entry {};
  ASSERT_EQ(::stat(file_.c_str(), &entry), 0);
  EXPECT_EQ(entry.st_mode & 0777, 0600u);
  const auto loaded = load_account_token(file_);
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->token, "t0");
  EXPECT_EQ(loaded->expires, clock_.now() + kAccountTokenLife);
  EXPECT_TRUE(load_account_token(folder_ + "/none").error().is(Reason::not_found));
  ASSERT_TRUE(write_private_file(file_, "{}"));
  EXPECT_THAT(load_account_token(file_).error().message, HasSubstr(file_ + " has no token"));
}

TEST_F(AccountTokenTest, IsRenewedAtThreeQuartersOfItsLifeAndUsedAtOnce) {
  TokenKeeper keeper(issuer_.transport(), first(), file_, "team", "syncer", clock_);
  Issuer peer(clock_);
  Client client(keeper.authorize(peer.transport()), {.timeout = std::chrono::seconds(10)});
  clock_.advance(minutes(44));
  ASSERT_TRUE(keeper.look());
  EXPECT_TRUE(issuer_.asked.empty());
  clock_.advance(minutes(1));
  ASSERT_TRUE(keeper.look());
  EXPECT_THAT(issuer_.asked, testing::ElementsAre("/api/v1/namespaces/team/serviceaccounts/syncer/token Bearer t0"));
  EXPECT_EQ(keeper.token().token, "t1");
  EXPECT_EQ(load_account_token(file_)->token, "t1") << "a restart begins with it";
  ASSERT_TRUE(client.raw("GET", "/version"));
  EXPECT_THAT(peer.asked, testing::ElementsAre("/version Bearer t1"));
}

TEST_F(AccountTokenTest, AHostThatIsAwayIsAskedAgain) {
  TokenKeeper keeper(issuer_.transport(), first(), file_, "team", "syncer", clock_);
  clock_.advance(minutes(50));
  issuer_.away = true;
  EXPECT_FALSE(keeper.look());
  EXPECT_EQ(keeper.token().token, "t0") << "good for ten minutes more";
  issuer_.away = false;
  EXPECT_TRUE(keeper.look());
  EXPECT_EQ(keeper.token().token, "t1");
}

TEST_F(AccountTokenTest, OneThatHasEndedAsksNobodyAndTakesWhatTheFileHas) {
  ASSERT_TRUE(save_account_token(file_, first()));
  TokenKeeper keeper(issuer_.transport(), first(), file_, "team", "syncer", clock_);
  clock_.advance(minutes(61));
  const auto looked = keeper.look();
  ASSERT_FALSE(looked);
  EXPECT_THAT(looked.error().message, HasSubstr("run `sublet create`"));
  EXPECT_TRUE(issuer_.asked.empty());
  ASSERT_TRUE(save_account_token(file_, {"from the operator", clock_.now(), clock_.now() + kAccountTokenLife}));
  ASSERT_TRUE(keeper.look());
  EXPECT_EQ(keeper.token().token, "from the operator");
}

TEST_F(AccountTokenTest, TheThreadRenewsByItself) {
  ASSERT_TRUE(save_account_token(file_, first()));
  clock_.advance(minutes(59));
  {
    TokenKeeper keeper(issuer_.transport(), load_account_token(file_).value(), file_, "team", "syncer", clock_);
    keeper.start();
    while (keeper.token().token == "t0") std::this_thread::yield();
  }
  EXPECT_EQ(issuer_.asked.size(), 1u);
}

}  // namespace
}  // namespace sublet::kube
