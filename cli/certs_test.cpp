// sublet certs over a driver that does as the test says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "cli/captured_run_testing.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/fake_driver_testing.h"
#include "cluster/folder_testing.h"

namespace sublet::cli {
namespace {

using std::chrono::hours;
using testing::HasSubstr;
using testing::Not;

class Certs : public testing::Test {
 protected:
  Certs() {
    ::setenv("KUBECONFIG", (home_.path + "/config").c_str(), 1);
    driver_.records.clusters = {cluster_of("rag", "team-a")};
    driver_.statuses = {{"Running", "v1.35.0"}};
    has("admin", hours(24 * 20));
  }
  void has(const std::string& name, hours left) {
    driver_.certificates_of_all = {{"apiserver", "shown", now_ + hours(24 * 80)}, {name, "used", now_ + left, true}};
  }
  template <class Call>
  int run(Call call) {
    return capture(call, out_, err_);
  }
  int run(const CertsOptions& options) {
    return run([&] { return certs(driver_, options); });
  }
  int run_list() {
    return run([&] { return list(driver_, {}); });
  }

  const testing_support::TestFolder home_;
  const WallTime now_ = Clock::system().now();
  FakeDriver driver_;
  std::string out_, err_;
};

TEST_F(Certs, CheckSaysWhenTheyEnd) {
  EXPECT_EQ(run(CertsOptions{}), kOk);
  EXPECT_THAT(out_, HasSubstr("apiserver     " + format_time(now_ + hours(24 * 80))));
  EXPECT_THAT(out_, HasSubstr("good"));
  EXPECT_EQ(err_, "");
  has("admin", hours(24 * 6));
  EXPECT_EQ(run(CertsOptions{}), kOk);
  EXPECT_THAT(err_, HasSubstr("certificate admin of virtualcluster/rag ends at"));
  has("admin", hours(-1));
  EXPECT_EQ(run(CertsOptions{.name = "rag", .host_namespace = "team-a", .output = "json"}), kFailure);
  EXPECT_THAT(out_, HasSubstr("\"state\": \"ended\""));
  EXPECT_THAT(err_, HasSubstr("ended at"));
  has("ca", hours(24));
  EXPECT_EQ(run(CertsOptions{}), kOk);
  EXPECT_THAT(err_, HasSubstr("authority cannot be replaced"));
  EXPECT_EQ(run(CertsOptions{.name = "train"}), kNotFound);
}

TEST_F(Certs, ListWarnsOfOneThatRuns) {
  EXPECT_EQ(run_list(), kOk);
  EXPECT_THAT(err_, Not(HasSubstr("certificate")));
  has("admin", hours(24 * 6));
  EXPECT_EQ(run_list(), kOk);
  EXPECT_THAT(err_, HasSubstr("certificate admin of virtualcluster/rag ends at"));
  driver_.statuses = {{"Stopped", "-"}};
  EXPECT_EQ(run_list(), kOk);
  EXPECT_EQ(err_, "") << "the next start makes another";
}

TEST_F(Certs, RotateSaysHowToGoOn) {
  EXPECT_EQ(run(CertsOptions{.rotate = true, .name = "virtualcluster/rag"}), kOk);
  EXPECT_THAT(driver_.calls, testing::ElementsAre("rotate rag"));
  EXPECT_THAT(err_, HasSubstr("sublet connect rag -n team-a"));
  driver_.rotates_now = false;
  EXPECT_EQ(run(CertsOptions{.rotate = true, .name = "rag", .output = "json"}), kOk);
  EXPECT_THAT(out_, HasSubstr("\"rotated\": false"));
  EXPECT_THAT(err_, HasSubstr("when it starts"));
  driver_.failure = fail(Reason::service_unavailable, "no answer").value();
  EXPECT_EQ(run(CertsOptions{.rotate = true, .name = "rag"}), kFailure);
  EXPECT_THAT(err_, HasSubstr("no answer"));
}

}  // namespace
}  // namespace sublet::cli
