#include "subletd/pki.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>

#include "sublet/base/files.h"

namespace sublet::subletd {
namespace {

class PkiTest : public testing::Test {
 protected:
  PkiTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "sublet-pki-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~PkiTest() override { std::filesystem::remove_all(folder_); }
  Pki load() {
    auto pki = load_or_make_pki(folder_, names_, clock_);
    EXPECT_TRUE(pki) << pki.error().message;
    return pki ? std::move(*pki) : Pki();
  }
  std::string folder_;
  std::vector<std::string> names_{"localhost", "127.0.0.1"};
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
  EXPECT_EQ(files, 8);
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
  const Pki made = load();
  clock_.advance(std::chrono::hours(24 * 334));
  EXPECT_EQ(load().server.certificate_pem, made.server.certificate_pem) << "31 days are left";
  clock_.advance(std::chrono::hours(24 * 2));
  const Pki renewed = load();
  EXPECT_NE(renewed.server.certificate_pem, made.server.certificate_pem);
  EXPECT_NE(renewed.admin.certificate_pem, made.admin.certificate_pem);
  EXPECT_EQ(renewed.ca.certificate_pem, made.ca.certificate_pem);
  EXPECT_GT(*net::certificate_not_after(renewed.server.certificate_pem), clock_.now() + std::chrono::hours(24 * 364));
}

TEST_F(PkiTest, HalfAPairIsMadeAnew) {
  const Pki made = load();
  std::filesystem::remove(folder_ + "/admin.crt");
  EXPECT_NE(load().admin.certificate_pem, made.admin.certificate_pem);
  EXPECT_EQ(load().server.certificate_pem, made.server.certificate_pem);
}

TEST_F(PkiTest, AFileThatCannotBeReadIsNamed) {
  std::filesystem::create_directory(folder_ + "/ca.crt");
  const auto pki = load_or_make_pki(folder_, names_, clock_);
  ASSERT_FALSE(pki);
  EXPECT_NE(pki.error().message.find(folder_ + "/ca.crt"), std::string::npos) << pki.error().message;
}

}  // namespace
}  // namespace sublet::subletd
