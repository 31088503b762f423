#include "subletd/pki.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>

#include "sublet/base/files.h"
#include "sublet/cluster/certificates.h"

namespace sublet::subletd {
namespace {

using testing::Contains;
using testing::UnorderedElementsAre;

class PkiTest : public testing::Test {
 protected:
  PkiTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "sublet-pki-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~PkiTest() override { std::filesystem::remove_all(folder_); }
  Pki load() {
    auto pki = load_or_make_pki({folder_, names_, controllers_}, clock_);
    EXPECT_TRUE(pki) << pki.error().message;
    return pki ? std::move(*pki) : Pki();
  }
  std::string folder_;
  std::vector<std::string> names_{"localhost", "127.0.0.1"};
  bool controllers_ = false;
  ManualClock clock_;
};

TEST_F(PkiTest, IsMadeOnceAndKept) {
  const Pki made = load();
  const Pki again = load();
  EXPECT_EQ(made.ca.certificate_pem, again.ca.certificate_pem);
  EXPECT_EQ(made.server.certificate_pem, again.server.certificate_pem);
  EXPECT_EQ(made.admin.certificate_pem, again.admin.certificate_pem);
  EXPECT_EQ(made.service_account_key_pem, again.service_account_key_pem);
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    struct stat status {};
    ASSERT_EQ(::stat(entry.path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0600u) << entry.path();
    ++files;
  }
  EXPECT_EQ(files, 13);
}

TEST_F(PkiTest, AKeyThatWasRenamedSignsNoMoreButIsKept) {
  const Pki made = load();
  EXPECT_TRUE(made.old_service_account_keys_pem.empty());
  std::filesystem::rename(folder_ + "/sa.key", folder_ + "/sa-2026.key");
  const Pki again = load();
  EXPECT_NE(again.service_account_key_pem, made.service_account_key_pem);
  EXPECT_EQ(again.old_service_account_keys_pem, std::vector<std::string>{made.service_account_key_pem});
  EXPECT_EQ(load().service_account_key_pem, again.service_account_key_pem);
}

TEST_F(PkiTest, OtherNamesMakeTheServersCertificateAnewAndNothingElse) {
  const Pki made = load();
  names_.push_back("rag.example.com");
  const Pki again = load();
  EXPECT_NE(made.server.certificate_pem, again.server.certificate_pem);
  EXPECT_EQ(made.ca.certificate_pem, again.ca.certificate_pem);
  EXPECT_EQ(made.admin.certificate_pem, again.admin.certificate_pem);
  EXPECT_EQ(load().server.certificate_pem, again.server.certificate_pem);
}

TEST_F(PkiTest, LeavesThatEndSoonAreMadeAnewUnderTheSameAuthority) {
  constexpr std::chrono::hours kDay(24);
  const Pki made = load();
  clock_.advance(19 * kDay);
  EXPECT_EQ(load().admin.certificate_pem, made.admin.certificate_pem) << "11 of 30 days are left";
  clock_.advance(2 * kDay);
  EXPECT_NE(load().admin.certificate_pem, made.admin.certificate_pem) << "9 of 30 days are left";
  EXPECT_EQ(load().server.certificate_pem, made.server.certificate_pem) << "69 of 90 days are left";
  clock_.advance(40 * kDay);
  const Pki renewed = load();
  EXPECT_NE(renewed.server.certificate_pem, made.server.certificate_pem) << "29 of 90 days are left";
  EXPECT_EQ(renewed.ca.certificate_pem, made.ca.certificate_pem);
  EXPECT_GT(*net::certificate_not_after(renewed.server.certificate_pem), clock_.now() + 89 * kDay);
  EXPECT_LT(*net::certificate_not_after(renewed.server.certificate_pem), clock_.now() + 91 * kDay);
  EXPECT_LT(*net::certificate_not_after(renewed.admin.certificate_pem), clock_.now() + 31 * kDay);
}

TEST_F(PkiTest, AdministratorsCountUntilTheyEndOrTheListIsTakenAway) {
  constexpr std::chrono::hours kDay(24);
  const auto digest = [](const Pki& pki) { return net::certificate_sha256(pki.admin.certificate_pem); };
  const Pki made = load();
  EXPECT_EQ(made.administrators, std::vector<std::string>{digest(made)});
  clock_.advance(21 * kDay);
  const Pki renewed = load();
  EXPECT_THAT(renewed.administrators, UnorderedElementsAre(digest(made), digest(renewed)));
  clock_.advance(10 * kDay);
  EXPECT_EQ(load().administrators, std::vector<std::string>{digest(renewed)}) << "the first has ended";
  clock_.advance(11 * kDay);
  const Pki third = load();
  EXPECT_EQ(third.administrators.size(), 2u);
  ASSERT_TRUE(cluster::forget_certificates(folder_));
  const Pki rotated = load();
  EXPECT_EQ(rotated.administrators, std::vector<std::string>{digest(rotated)});
  EXPECT_NE(digest(rotated), digest(third));
  EXPECT_NE(rotated.server.certificate_pem, third.server.certificate_pem);
  EXPECT_EQ(rotated.ca.certificate_pem, made.ca.certificate_pem);
  EXPECT_EQ(rotated.service_account_key_pem, made.service_account_key_pem);
}

TEST_F(PkiTest, UpstreamsControllersAreAnAdministratorThatRotationLeaves) {
  EXPECT_FALSE(load().controllers);
  controllers_ = true;
  const Pki made = load();
  ASSERT_TRUE(made.controllers);
  EXPECT_EQ(made.administrators.size(), 2u);
  ASSERT_TRUE(cluster::forget_certificates(folder_));
  const Pki rotated = load();
  EXPECT_EQ(rotated.controllers->certificate_pem, made.controllers->certificate_pem);
  EXPECT_THAT(rotated.administrators, Contains(net::certificate_sha256(made.controllers->certificate_pem)));
  EXPECT_EQ(rotated.administrators.size(), 2u);
}

TEST_F(PkiTest, HalfAPairIsMadeAnew) {
  const Pki made = load();
  std::filesystem::remove(folder_ + "/admin.crt");
  EXPECT_NE(load().admin.certificate_pem, made.admin.certificate_pem);
  EXPECT_EQ(load().server.certificate_pem, made.server.certificate_pem);
}

TEST_F(PkiTest, AFileThatCannotBeReadIsNamed) {
  std::filesystem::create_directory(folder_ + "/ca.crt");
  const auto pki = load_or_make_pki({folder_, names_}, clock_);
  ASSERT_FALSE(pki);
  EXPECT_NE(pki.error().message.find(folder_ + "/ca.crt"), std::string::npos) << pki.error().message;
}

}  // namespace
}  // namespace sublet::subletd
