// boot: the unit that is written, what is asked of systemd, and what the unit's command starts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "cli/boot_place.h"
#include "cli/captured_run_testing.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/fake_driver_testing.h"
#include "cli/systemd.h"
#include "cluster/folder_testing.h"
#include "sublet/base/files.h"

namespace sublet::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class FakeServices final : public ServiceManager {
 public:
  bool there = true;
  std::string failing;  // the verb that fails
  bool lingers = true;
  std::vector<std::string> calls;
  bool runs() const override { return there; }
  Outcome control(const std::vector<std::string>& arguments) override {
    std::string line;
    for (const auto& word : arguments) line += (line.empty() ? "" : " ") + word;
    calls.push_back(line);
    return arguments[0] == failing ? internal_error(line + " failed: not today") : Outcome();
  }
  Outcome linger() override {
    calls.emplace_back("linger");
    return lingers ? Outcome() : internal_error("loginctl: access denied");
  }
};

class Boot : public testing::Test {
 protected:
  Boot() {
    place_.unit_path = home_.path + "/.config/systemd/user/sublet.service";
    place_.program = "/opt/sublet bin/sublet";
    place_.state_folder = "/home/ann/.local/state/sublet";
    place_.user = "ann";
    driver_.records.clusters = {cluster_of("rag", "team-a"), cluster_of("train", "team-b")};
  }
  int run(BootAction action, std::chrono::milliseconds patience = {}) {
    BootOptions options;
    options.action = action;
    options.timeout = std::chrono::duration_cast<std::chrono::seconds>(patience);
    options.between = std::chrono::milliseconds(0);
    return capture([&] { return boot(driver_, services_, place_, options); }, out_, err_);
  }
  std::string unit() const { return read_file(place_.unit_path).value_or("<none>"); }

  const testing_support::TestFolder home_;
  FakeDriver driver_;
  FakeServices services_;
  BootPlace place_;
  std::string out_, err_;
};

TEST_F(Boot, EnableWritesAUnitAndEnablesIt) {
  ASSERT_EQ(run(BootAction::enable), kOk) << err_;
  EXPECT_EQ(out_, "unit/sublet.service enabled\n");
  EXPECT_THAT(services_.calls, ElementsAre("daemon-reload", "enable sublet.service", "linger"));
  EXPECT_THAT(unit(), HasSubstr("\nExecStart=-\"/opt/sublet bin/sublet\" boot start\n"));
  EXPECT_THAT(unit(), HasSubstr("\nEnvironment=\"SUBLET_STATE_DIR=/home/ann/.local/state/sublet\"\n"));
  EXPECT_THAT(unit(), HasSubstr("\nWantedBy=default.target\n"));
  struct stat status {};
  ASSERT_EQ(::stat(place_.unit_path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0644u);
  ASSERT_EQ(run(BootAction::enable), kOk) << "again";
  place_.system = true;
  EXPECT_THAT(place_.unit_text().value(), HasSubstr("\nWantedBy=multi-user.target\n"));
  EXPECT_THAT(place_.unit_text().value(), HasSubstr("\nAfter=network-online.target\n"));
}

// What systemd has to say of a unit; "" is good.
std::string complaints(const std::string& text, const std::string& folder, bool system) {
  testing_support::write_file(folder + "/sublet.service", text);
  const std::string command = "XDG_RUNTIME_DIR='" + folder + "' systemd-analyze " + (system ? "" : "--user ") +
                              "verify '" + folder + "/sublet.service' 2>&1";
  std::string said;
  FILE* pipe = ::popen(command.c_str(), "r");
  std::array<char, 256> piece{};
  while (std::fgets(piece.data(), piece.size(), pipe) != nullptr) said += piece.data();
  const int status = ::pclose(pipe);
  return said + (status == 0 ? "" : "status " + std::to_string(status));
}

TEST_F(Boot, SystemdUnderstandsTheUnit) {
  if (std::system("command -v systemd-analyze >/dev/null") != 0) {
    std::puts("systemd-analyze is not here: the unit's text alone was checked");
    return;
  }
  place_.program = home_.path + "/a program";
  place_.state_folder = home_.path + "/a folder=1,2";
  std::filesystem::copy_file("/bin/true", place_.program);
  for (const bool system : {false, true}) {
    place_.system = system;
    const std::string text = place_.unit_text().value();
    EXPECT_EQ(complaints(text, home_.path, system), "");
    EXPECT_NE(complaints(text + "[Service]\nRemainsAfterExit=yes\n", home_.path, system), "") << "it would notice";
  }
}

TEST_F(Boot, WithoutSystemdTheCommandIsToldAndNothingWritten) {
  services_.there = false;
  EXPECT_EQ(run(BootAction::enable), kFailure);
  EXPECT_THAT(err_, HasSubstr("systemd does not run here"));
  EXPECT_THAT(
      err_, HasSubstr("as ann: SUBLET_STATE_DIR='/home/ann/.local/state/sublet' '/opt/sublet bin/sublet' boot start"));
  EXPECT_EQ(unit(), "<none>");
  EXPECT_TRUE(services_.calls.empty());
}

TEST_F(Boot, WhatSystemdRefusesLeavesNothing) {
  services_.failing = "enable";
  EXPECT_EQ(run(BootAction::enable), kFailure);
  EXPECT_THAT(err_, HasSubstr("not today"));
  EXPECT_EQ(unit(), "<none>");
  EXPECT_EQ(out_, "");
  services_.failing.clear();
  ASSERT_EQ(run(BootAction::enable), kOk);
  services_.failing = "enable";
  EXPECT_EQ(run(BootAction::enable), kFailure);
  EXPECT_NE(unit(), "<none>") << "what was enabled before stays so";
}

TEST_F(Boot, WhoMayNotLingerIsToldWhatThatMeans) {
  services_.lingers = false;
  EXPECT_EQ(run(BootAction::enable), kOk);
  EXPECT_THAT(err_, HasSubstr("when ann logs in, not before"));
  EXPECT_THAT(err_, HasSubstr("sudo loginctl enable-linger ann"));
}

TEST_F(Boot, AnothersUnitStaysAsItIs) {
  testing_support::write_file(place_.unit_path, "[Service]\nExecStart=/bin/mine\n");
  EXPECT_EQ(run(BootAction::enable), kFailure);
  EXPECT_THAT(err_, HasSubstr("was not made by sublet"));
  EXPECT_EQ(run(BootAction::disable), kFailure);
  EXPECT_THAT(unit(), HasSubstr("/bin/mine"));
  BootPlace other = place_;
  other.state_folder = "/srv/sublet";
  testing_support::write_file(place_.unit_path, other.unit_text().value());
  EXPECT_EQ(run(BootAction::enable), kFailure);
  EXPECT_THAT(err_, HasSubstr("starts the virtual clusters in /srv/sublet"));
  EXPECT_THAT(err_, HasSubstr("SUBLET_STATE_DIR='/srv/sublet' sublet boot disable"));
  EXPECT_TRUE(services_.calls.empty());
}

TEST_F(Boot, APathThatAUnitWouldReadOtherwiseIsRefused) {
  for (const char* path : {"/home/100%/sublet", "/home/$USER/sublet", "/a\"b", "relative", "/a\nExecStartPre=/bin/x"}) {
    place_.state_folder = path;
    EXPECT_EQ(run(BootAction::enable), kUsage) << path;
    EXPECT_EQ(unit(), "<none>");
  }
}

TEST_F(Boot, DisableTakesItAwayAndStopsNothing) {
  ASSERT_EQ(run(BootAction::disable), kOk);
  EXPECT_THAT(err_, HasSubstr("boot is not enabled"));
  ASSERT_EQ(run(BootAction::enable), kOk);
  services_.calls.clear();
  ASSERT_EQ(run(BootAction::disable), kOk);
  EXPECT_EQ(out_, "unit/sublet.service disabled\n");
  EXPECT_THAT(services_.calls, ElementsAre("disable sublet.service", "daemon-reload"));
  EXPECT_EQ(unit(), "<none>");
  EXPECT_TRUE(driver_.calls.empty());
}

TEST_F(Boot, StartStartsAllOfThem) {
  driver_.unchanged = "train";
  EXPECT_EQ(run(BootAction::start), kOk);
  EXPECT_THAT(driver_.calls, ElementsAre("start rag", "start train"));
  EXPECT_EQ(out_, "virtualcluster/rag started\nvirtualcluster/train unchanged\n");
  driver_.records = {};
  EXPECT_EQ(run(BootAction::start), kOk);
}

TEST_F(Boot, StartGoesOnBehindOneThatFailsAndTellsADamagedOne) {
  driver_.failure = fail(Reason::internal_error, "its store is damaged").value();
  driver_.failing = "rag";
  driver_.records.damaged = {{"broken", "team-c", "/folder", "its record is broken"}};
  EXPECT_EQ(run(BootAction::start, std::chrono::minutes(1)), kFailure);
  EXPECT_THAT(driver_.calls, ElementsAre("start rag", "start train")) << "waiting mends no damage";
  EXPECT_THAT(err_, HasSubstr("virtualcluster/rag: its store is damaged"));
  EXPECT_THAT(err_, HasSubstr("its record is broken"));
  EXPECT_EQ(out_, "virtualcluster/train started\n");
}

TEST_F(Boot, StartTriesAgainWhereAHostIsNotUpYet) {
  driver_.failure = fail(Reason::service_unavailable, "the host is away").value();
  driver_.failing = "rag";
  driver_.failures = 2;
  EXPECT_EQ(run(BootAction::start, std::chrono::minutes(1)), kOk);
  EXPECT_EQ(out_, "virtualcluster/train started\nvirtualcluster/rag started\n");
  driver_.failures = 1'000;
  EXPECT_EQ(run(BootAction::start), kFailure) << "not for ever";
}

TEST_F(Boot, StartLeavesOneWhoseDeletionIsNotFinished) {
  driver_.records.clusters[0].deleting = true;
  EXPECT_EQ(run(BootAction::start), kOk);
  EXPECT_THAT(driver_.calls, ElementsAre("start train"));
  EXPECT_THAT(err_,
              HasSubstr("virtualcluster/rag is not started, because its deletion is not finished: sublet delete"));
}

}  // namespace
}  // namespace sublet::cli
