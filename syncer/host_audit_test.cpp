#include "sublet/syncer/host_audit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>

#include <filesystem>
#include <fstream>
#include <future>

#include "sublet/base/files.h"
#include "sublet/kube/client.h"
#include "sublet/net/duplex.h"
#include "sublet/net/http_client.h"
#include "sublet/net/http_server.h"
#include "sublet/net/loop.h"
#include "sublet/schema/document.h"

namespace sublet::syncer {
namespace {

using testing::HasSubstr;

constexpr const char* kPod =
    R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":"a-x-ns-x-rag","namespace":"team","uid":"host-uid","labels":{"sublet.dev/tenant-namespace":"ns"},"annotations":{"sublet.dev/tenant-name":"a","sublet.dev/tenant-uid":"u"}},"spec":{}})";

class HostAuditTest : public testing::Test {
 protected:
  HostAuditTest() {
    char pattern[] = "/tmp/sublet-audit-XXXXXX";
    folder_ = std::string(::mkdtemp(pattern)) + "/audit";
    reopen();
  }
  ~HostAuditTest() override {
    audit_.reset();
    std::filesystem::remove_all(std::filesystem::path(folder_).parent_path());
  }
  void reopen(std::size_t file_bytes_max = 1 << 20, std::size_t files_max = 3) {
    audit_.reset();
    auto opened = HostAudit::open(
        {folder_, "rag", "vc-uid", "system:serviceaccount:team:sublet-syncer-rag", file_bytes_max, files_max, &clock_});
    ASSERT_TRUE(opened) << opened.error().message;
    audit_ = std::move(*opened);
  }
  kube::Client host() {
    return kube::Client(audit_->record(net::make_in_process_transport(
        [this](net::Request request, std::shared_ptr<net::ResponseSink> sink) {
          ids.emplace_back(request.headers.get("Audit-ID"));
          sink->respond(code, {}, answer);
        },
        {})));
  }
  void write_pods(int count) {
    const auto pod = schema::Document::parse_json(kPod);
    kube::Client client = host();
    for (int i = 0; i < count; ++i) (void)client.create({"", "v1", "pods"}, "team", pod->root());
    audit_->flush();
  }
  std::string file(int number = 1) const { return folder_ + "/host-writes.00000" + std::to_string(number) + ".jsonl"; }
  std::vector<std::string> lines(int number = 1) const {
    std::vector<std::string> all;
    std::ifstream in(file(number));
    for (std::string line; std::getline(in, line);) all.push_back(line);
    return all;
  }
  void rewrite(const std::vector<std::string>& all) const {
    std::string text;
    for (const auto& line : all) text += line + "\n";
    ASSERT_TRUE(write_private_file(file(), text));
  }
  std::string wrong() const {
    const auto check = check_host_audit(folder_);
    return check ? "" : check.error().message;
  }

  ManualClock clock_;
  std::string folder_;
  std::unique_ptr<HostAudit> audit_;
  std::vector<std::string> ids;  // as the host heard them
  int code = 201;
  std::string answer = kPod;
};

TEST_F(HostAuditTest, EachWriteIsARecordAndNoReadIs) {
  kube::Client client = host();
  const auto pod = schema::Document::parse_json(kPod);
  ASSERT_TRUE(client.get({"", "v1", "pods"}, "team", "a-x-ns-x-rag"));
  ASSERT_TRUE(client.create({"", "v1", "pods"}, "team", pod->root()));
  answer = R"({"kind":"Status","status":"Success","details":{"name":"c","kind":"configmaps","uid":"gone"}})";
  code = 200;
  ASSERT_TRUE(client.remove({"", "v1", "configmaps"}, "team", "c"));
  answer = R"({"kind":"Status","code":403,"reason":"Forbidden","message":"no"})";
  code = 403;
  ASSERT_FALSE(client.patch({"", "v1", "pods"}, "team", "a", kube::PatchType::merge, "{}"));
  audit_->flush();
  const auto all = lines();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(ids[0], "");
  EXPECT_THAT(all[0],
              HasSubstr(R"({"seq":1,"time":"2023-11-14T22:13:20.000000Z","virtualCluster":"rag","uid":"vc-uid",)"
                        R"("user":"system:serviceaccount:team:sublet-syncer-rag","requestId":")" +
                        ids[1] +
                        R"(","verb":"create","path":"/api/v1/namespaces/team/pods","code":201,)"
                        R"("hostUid":"host-uid","tenant":{"namespace":"ns","name":"a","uid":"u"},"previous":""})"));
  EXPECT_THAT(
      all[1],
      HasSubstr(
          R"("verb":"delete","path":"/api/v1/namespaces/team/configmaps/c","code":200,"hostUid":"gone","previous":")"));
  EXPECT_THAT(all[2], HasSubstr(R"("verb":"patch","path":"/api/v1/namespaces/team/pods/a","code":403,"previous":")"));
  const auto check = check_host_audit(folder_);
  ASSERT_TRUE(check) << check.error().message;
  EXPECT_EQ(check->records, 3u);
  EXPECT_EQ(check->head.size(), 64u);
}

TEST_F(HostAuditTest, TheTenantsUserIsAskedForByWhatWasCarried) {
  std::vector<WriteCause> asked;
  bool away = false;
  audit_.reset();
  HostAuditOptions options{folder_, "rag", "vc-uid", "system:serviceaccount:team:sublet-syncer-rag"};
  options.writers = [&](const std::vector<WriteCause>& causes) {
    asked.insert(asked.end(), causes.begin(), causes.end());
    return away ? std::vector<TenantWriter>() : std::vector<TenantWriter>(causes.size(), {"jane", "r1"});
  };
  audit_ = HostAudit::open(std::move(options)).value();
  kube::Client client = host();
  const auto pod = schema::Document::parse_json(kPod);
  {
    const CauseScope scope({cause_key("", "pods", "ns", "a")});
    CauseScope::change({cause_key("", "pods", "ns", "a"), "7"});
    ASSERT_TRUE(client.create({"", "v1", "pods"}, "team", pod->root()));
    {
      const CauseScope session({"pods/ns/a", "", "joe", "r2"});  // who asks is known
      ASSERT_TRUE(client.create({"", "v1", "pods"}, "team", pod->root()));
    }
    answer = R"({"kind":"Status","status":"Success","details":{"name":"c","kind":"services","uid":"gone"}})";
    code = 200;
    CauseScope::change({cause_key("networking.k8s.io", "ingresses", "ns", "i")});
    ASSERT_TRUE(client.remove({"networking.k8s.io", "v1", "ingresses"}, "team", "c"));
  }
  ASSERT_TRUE(client.remove({"", "v1", "services"}, "team", "c"));  // of nobody
  audit_->flush();
  away = true;
  const CauseScope scope({cause_key("", "namespaces", "", "n")});
  ASSERT_TRUE(client.remove({"", "v1", "services"}, "team", "c"));
  audit_->flush();
  const auto all = lines();
  ASSERT_EQ(all.size(), 5u);
  EXPECT_THAT(
      all[0],
      HasSubstr(
          R"("tenant":{"namespace":"ns","name":"a","uid":"u","resource":"pods","user":"jane","requestId":"r1"})"));
  EXPECT_THAT(all[1], HasSubstr(R"("resource":"pods","user":"joe","requestId":"r2"})"));
  EXPECT_THAT(all[2], HasSubstr(R"("tenant":{"namespace":"ns","name":"i","resource":"ingresses.networking.k8s.io",)"
                                R"("user":"jane","requestId":"r1"})"));
  EXPECT_EQ(all[3].find("tenant"), std::string::npos) << all[3];
  EXPECT_THAT(all[4], HasSubstr(R"("tenant":{"name":"n","resource":"namespaces"},)"));
  ASSERT_EQ(asked.size(), 3u);
  EXPECT_EQ(asked[0].resource_version, "7");
  EXPECT_EQ(asked[1].key, "ingresses.networking.k8s.io/ns/i");
}

TEST_F(HostAuditTest, WhatIsEditedTakenOutPutInOrMovedIsNoticed) {
  write_pods(6);
  const auto all = lines();
  ASSERT_EQ(wrong(), "");
  for (std::size_t i = 0; i + 1 < all.size(); ++i) {
    auto edited = all;
    edited[i].replace(edited[i].find("\"code\":201"), 10, "\"code\":409");
    rewrite(edited);
    EXPECT_THAT(wrong(), HasSubstr("does not follow from the line before it")) << i;
  }
  auto less = all;
  less.erase(less.begin() + 2);
  rewrite(less);
  EXPECT_THAT(wrong(), HasSubstr(":3: is record 4 behind record 2"));
  auto more = all;
  more.insert(more.begin() + 2, more[1]);
  rewrite(more);
  EXPECT_THAT(wrong(), HasSubstr("is record 2 behind record 2"));
  auto moved = all;
  std::swap(moved[2], moved[3]);
  rewrite(moved);
  EXPECT_NE(wrong(), "");
  rewrite(all);
  const std::string head = check_host_audit(folder_)->head;
  rewrite({all.begin(), all.end() - 1});
  EXPECT_EQ(wrong(), "") << "what is cut off at the end shows by the hash that was kept elsewhere";
  EXPECT_NE(check_host_audit(folder_)->head, head);
  EXPECT_THAT(check_host_audit(folder_, head).error().message, HasSubstr("no record has the hash " + head));
  rewrite(all);
  write_pods(1);
  EXPECT_TRUE(check_host_audit(folder_, head)) << "it goes on behind it";
}

TEST_F(HostAuditTest, ARestartGoesOnAndALineThatACrashLeftGoes) {
  write_pods(3);
  reopen();
  write_pods(2);
  EXPECT_EQ(check_host_audit(folder_)->records, 5u);
  audit_.reset();
  std::ofstream(file(), std::ios::app) << R"({"seq":6,"tim)";
  EXPECT_THAT(wrong(), HasSubstr(":6: ends in the middle of a record"));
  reopen();
  write_pods(1);
  EXPECT_EQ(wrong(), "");
  EXPECT_EQ(check_host_audit(folder_)->last, 6u);
}

TEST_F(HostAuditTest, ItsSizeIsBoundedAndTheChainGoesThroughTheFiles) {
  reopen(2000, 3);
  write_pods(100);
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    EXPECT_LT(entry.file_size(), 3000u);
    ++files;
  }
  EXPECT_LE(files, 4u);
  const auto check = check_host_audit(folder_);
  ASSERT_TRUE(check) << check.error().message;
  EXPECT_EQ(check->last, 100u);
  EXPECT_GT(check->first, 50u) << "the oldest are gone";
  reopen(2000, 3);
  write_pods(1);
  EXPECT_EQ(check_host_audit(folder_)->last, 101u);
}

TEST_F(HostAuditTest, AWriteWithoutAnAnswerIsARecordToo) {
  auto transport = audit_->record(net::make_in_process_transport(
      [this](net::Request request, std::shared_ptr<net::ResponseSink> sink) {
        ids.emplace_back(request.headers.get("Audit-ID"));
        sink->abort();
      },
      {}));
  EXPECT_FALSE(kube::Client(transport).remove({"", "v1", "pods"}, "team", "a"));
  transport.reset();
  audit_->flush();
  ASSERT_EQ(lines().size(), 1u);
  EXPECT_THAT(lines()[0], HasSubstr("\"code\":0"));
}

TEST_F(HostAuditTest, ThereIsNothingToCheckWithoutALog) {
  EXPECT_TRUE(check_host_audit(folder_ + "/none").error().is(Reason::not_found));
}

TEST_F(HostAuditTest, WhatADiskDidNotTakeIsCountedAndTheChainGoesOn) {
  write_pods(2);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit full = before;
  full.rlim_cur = std::filesystem::file_size(file()) + 10;  // room for a part of a line
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &full), 0);
  write_pods(3);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  ::signal(SIGXFSZ, handler);
  EXPECT_EQ(lines().size(), 2u);
  write_pods(1);
  ASSERT_EQ(lines().size(), 3u);
  EXPECT_THAT(lines()[2], HasSubstr(R"("lost":3,)"));
  write_pods(1);
  EXPECT_THAT(lines()[3], testing::Not(HasSubstr("lost")));
  EXPECT_EQ(wrong(), "");
}

class Asker final : public net::UpgradeObserver {
 public:
  void on_head(int, const net::Headers&) override {}
  void on_body(std::string_view) override {}
  void on_end(Outcome) override { asked_.set_value(nullptr); }
  void on_upgrade(std::shared_ptr<net::Duplex> connection) override { asked_.set_value(std::move(connection)); }
  std::promise<std::shared_ptr<net::Duplex>> asked_;
};

TEST_F(HostAuditTest, ASessionInAPodIsARecordWhateverItsMethod) {
  net::LoopThread loop("test");
  const std::string socket = std::filesystem::path(folder_).parent_path() / "host.sock";
  net::HttpServer server(loop.loop(), [](const net::Request&, const std::shared_ptr<net::ResponseSink>& sink) {
    net::upgradable(*sink)->upgrade({{"Connection", "Upgrade"}, {"Upgrade", "bytes"}},
                                    [](const std::shared_ptr<net::Duplex>& given) { given->end(); });
  });
  ASSERT_TRUE(server.listen_unix(socket));
  net::Endpoint endpoint;
  endpoint.unix_path = socket;
  const auto host = audit_->record(net::make_http_client(loop.loop(), endpoint));
  for (const char* method : {"GET", "POST"}) {
    const auto asker = std::make_shared<Asker>();
    auto connection = asker->asked_.get_future();
    const auto exchange = host->start(
        {method, "/api/v1/namespaces/team/pods/a/exec", {{"Connection", "Upgrade"}, {"Upgrade", "bytes"}}, {}, {}},
        asker, std::chrono::milliseconds(0));
    EXPECT_NE(connection.get(), nullptr) << method;
  }
  audit_->flush();
  ASSERT_EQ(lines().size(), 2u);
  EXPECT_THAT(lines()[0], HasSubstr(R"("verb":"get","path":"/api/v1/namespaces/team/pods/a/exec","code":101)"));
  EXPECT_THAT(lines()[1], HasSubstr(R"("verb":"create","path":"/api/v1/namespaces/team/pods/a/exec","code":101)"));
}

}  // namespace
}  // namespace sublet::syncer
