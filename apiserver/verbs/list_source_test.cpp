// Lists longer than a step: whatever the form, they say what pages of one step say, cost their reader's memory and not
// the server's, and keep nobody waiting.
#include "apiserver/verbs/list_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <re2/re2.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "apiserver/server_testing.h"
#include "sublet/net/http_client.h"
#include "sublet/net/http_server.h"
#include "sublet/schema/engine.h"

namespace sublet::apiserver {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

constexpr int kObjects = 300;

/// The text of the items, without what stands around them.
std::string items_text(const std::string& body) {
  if (const auto envelope = schema::open_protobuf(body)) {
    auto raw = envelope->raw;  // {1: ListMeta, 2: repeated item}
    std::size_t size = 0, at = 1;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(raw.at(at++));
      size |= static_cast<std::size_t>(byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    return std::string(raw.substr(at + size));
  }
  for (const std::string_view open : {"\"items\":[", "\"rows\":[", "items:\n", "\"items\": ["})
    if (const auto at = body.find(open); at != std::string::npos) {
      auto text = body.substr(at + open.size());
      if (const auto end = text.rfind("]}\n"); end != std::string::npos) text.resize(end);
      return text;
    }
  ADD_FAILURE() << body.substr(0, 300);
  return {};
}

/// A Table's ages ("2s") change while it is asked for again.
std::string without_ages(std::string text) {
  RE2::GlobalReplace(&text, R"("\d+s")", "AGE");
  return text;
}

void fill(Rig& rig, int count, std::size_t bytes) {
  for (int i = 0; i < count; ++i)
    ASSERT_EQ(rig.make_config_map("cm-" + std::to_string(1000 + i), std::string(bytes, static_cast<char>('a' + i % 26)),
                                  i % 3 == 0 ? R"({"third":"yes"})" : "{}")
                  .code,
              201);
}

struct FormCase {
  const char* accept;
  bool text;  // items are separated by commas
};
void PrintTo(const FormCase& form, std::ostream* out) { *out << form.accept; }
class ListForm : public testing::TestWithParam<FormCase> {};

TEST_P(ListForm, StepsSayWhatPagesOfOneStepSay) {
  Rig rig;
  fill(rig, kObjects, 2000);  // 600 KB: ten steps
  const net::Headers accept{{"Accept", GetParam().accept}};
  for (const std::string selector : {"", "&labelSelector=third%3Dyes"}) {
    const auto whole = rig.get(kConfigMaps + "?x=1" + selector, accept);
    ASSERT_EQ(whole.code, 200) << whole.body;
    std::string joined, token;
    do {
      const auto page =
          rig.get(kConfigMaps + "?limit=17" + selector + (token.empty() ? "" : "&continue=" + token), accept);
      ASSERT_EQ(page.code, 200) << page.body;
      if (!joined.empty() && GetParam().text) joined += ',';
      joined += items_text(page.body);
      token = rig.get(kConfigMaps + "?limit=17" + selector + (token.empty() ? "" : "&continue=" + token))
                  .text("metadata.continue");
    } while (!token.empty());
    EXPECT_TRUE(without_ages(items_text(whole.body)) == without_ages(joined))
        << whole.body.size() << " " << joined.size();
  }
}
INSTANTIATE_TEST_SUITE_P(
    List, ListForm,
    testing::Values(FormCase{"application/json", true}, FormCase{"application/vnd.kubernetes.protobuf", false},
                    FormCase{"application/json;as=Table;v=v1;g=meta.k8s.io", true},
                    FormCase{"application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io", true},
                    FormCase{"application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
                             false}));

// What cannot be kept is encoded twice, and that costs nothing but time.
TEST(ListSource, ProtobufIsTheSameWhateverIsKeptOfIt) {
  std::string bodies[3];
  const std::size_t budgets[] = {32u << 20, 1u << 20, 0};
  for (int i = 0; i < 3; ++i) {
    ServerOptions options;
    options.kept_items_bytes = budgets[i];
    Rig rig({}, std::move(options));
    fill(rig, 40, 60'000);
    for (const int again : {0, 1}) {  // the budget is given back
      const auto list = rig.get(kConfigMaps, {{"Accept", "application/vnd.kubernetes.protobuf"}});
      const auto envelope = schema::open_protobuf(list.body);
      ASSERT_TRUE(envelope);
      const auto decoded = schema::decode_protobuf(
          envelope->raw, schema::Registry::builtin()->find_type("io.k8s.api.core.v1.ConfigMapList"));
      ASSERT_TRUE(decoded) << decoded.error().message;
      ASSERT_EQ((*decoded)["items"].size(), 40u) << again;
      for (int at = 0; at < 40; ++at)
        EXPECT_EQ((*decoded)["items"].at(at)["metadata"]["name"].text(), "cm-" + std::to_string(1000 + at));
      EXPECT_EQ((*decoded)["items"].at(39)["data"]["k"].text().size(), 60'000u);
      EXPECT_TRUE(list.body.ends_with(std::string("\x1a\0\x22\0", 4)));
      bodies[i] = list.body;
    }
  }
  EXPECT_EQ(bodies[0].size(), bodies[1].size());
  EXPECT_EQ(bodies[0].size(), bodies[2].size());
}

TEST(ListSource, WhatIsRenderedIsRenderedWhole) {
  Rig rig;
  fill(rig, 200, 1000);
  const auto yaml = rig.get(kConfigMaps, {{"Accept", "application/yaml"}});
  const auto parsed = schema::parse_yaml(yaml.body);
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ((*parsed)["items"].size(), 200u);
  const auto list = rig.get(kConfigMaps + "?pretty=1");
  EXPECT_THAT(list.body, HasSubstr("\n  \"items\": [\n"));
  EXPECT_EQ(list["items"].size(), 200u);
}

TEST(ListSource, APageSaysWhatStandsBehindIt) {
  Rig rig;
  fill(rig, 60, 10);
  const auto page = rig.get(kConfigMaps + "?limit=50");
  EXPECT_EQ(page["metadata"]["remainingItemCount"].integer(), 10);
  const auto filtered = rig.get(kConfigMaps + "?limit=10&labelSelector=third%3Dyes");
  EXPECT_FALSE(filtered["metadata"].has("remainingItemCount"));
  EXPECT_TRUE(filtered["metadata"].has("continue"));
  const auto last = rig.get(kConfigMaps + "?limit=60");
  EXPECT_FALSE(last["metadata"].has("continue"));
}

TEST(RemoveCollection, GivesOthersTheirTurnAndAnswersWithAll) {
  constexpr std::size_t kCount = 3000;
  Rig rig;
  fill(rig, kCount, 10);
  const auto removing = rig.begin("DELETE", kConfigMaps);
  int answered = 0;
  while (!removing->ended(std::chrono::seconds(0))) {
    EXPECT_EQ(rig.get("/api/v1/namespaces/test").code, 200);
    ++answered;
  }
  EXPECT_GT(answered, 3) << "in one go it would be one at most";
  const auto list = schema::Document::parse_json(removing->raw());
  ASSERT_TRUE(list);
  EXPECT_EQ((*list)["items"].size(), kCount);
  EXPECT_EQ(rig.get(kConfigMaps)["items"].size(), 0u);
}

/// A server on a unix socket, and raw connections to it.
class SocketRig : public testing::Test {
 protected:
  explicit SocketRig(ServerOptions made = options())
      : rig_({}, std::move(made)),
        folder_(std::filesystem::temp_directory_path() / ("sublet-list-" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(folder_);
    EXPECT_TRUE(http_.listen_unix(path()));
  }
  ~SocketRig() override {
    http_.stop(std::chrono::milliseconds(0));
    std::filesystem::remove_all(folder_);
  }
  std::string path() const { return folder_ / "api.sock"; }
  int dial() const {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path().copy(address.sun_path, sizeof(address.sun_path) - 1);
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    return fd;
  }

  static ServerOptions options() {
    ServerOptions made;  // the socket's peer is the house's, not system:masters
    made.component_rights = {{made.unix_socket_user, R"([{"apiGroups":["*"],"resources":["*"],"verbs":["*"]}])"}};
    return made;
  }
  Rig rig_;
  net::LoopThread loop_{"list-server"};
  std::filesystem::path folder_;
  net::HttpServer http_{loop_.loop(), rig_.server().handler()};
};

TEST_F(SocketRig, AReaderThatDoesNotReadCostsNoListAndKeepsNobodyWaiting) {
  fill(rig_, 100, 1'000'000);
  net::LoopThread client_loop("client");
  const auto client = net::make_http_client(client_loop.loop(), {{}, 0, path(), nullptr});
  net::Request get;
  get.method = "GET";
  get.target = kConfigMaps + "/cm-1000";
  ASSERT_EQ(net::fetch(*client, get, std::chrono::seconds(60))->code, 200);
  const auto before = ::mallinfo2();
  const int slow = dial();
  const std::string request = "GET " + kConfigMaps + " HTTP/1.1\r\nHost: x\r\n\r\n";
  ASSERT_EQ(::send(slow, request.data(), request.size(), MSG_NOSIGNAL), static_cast<ssize_t>(request.size()));
  char byte;
  ASSERT_EQ(::recv(slow, &byte, 1, 0), 1);  // the answer has begun, and is read no further
  for (int i = 0; i < 20; ++i) ASSERT_EQ(net::fetch(*client, get, std::chrono::seconds(60))->code, 200);
  const auto after = ::mallinfo2();
  EXPECT_LT(after.uordblks + after.hblkhd, before.uordblks + before.hblkhd + 16'000'000);
  std::size_t read = 1;
  std::string tail(1 << 16, '\0'), last;
  while (!last.ends_with("\r\n0\r\n\r\n")) {  // read on, it comes to its end
    const auto got = ::recv(slow, tail.data(), tail.size(), 0);
    ASSERT_GT(got, 0);
    read += static_cast<std::size_t>(got);
    last = (last + tail.substr(0, static_cast<std::size_t>(got)));
    if (last.size() > 16) last.erase(0, last.size() - 16);
  }
  EXPECT_GT(read, 100'000'000u);
  ::close(slow);
}

/// A level with one seat, of one user; his requests come over the socket of a house that may be anybody.
class SeatRig : public SocketRig {
 protected:
  explicit SeatRig(std::chrono::seconds request_timeout = std::chrono::minutes(10))
      : SocketRig([&] {
          ServerOptions made = options();
          made.request_timeout = request_timeout;
          return made;
        }()) {
    const std::string rights = "/apis/rbac.authorization.k8s.io/v1/";
    EXPECT_EQ(rig_.post(rights + "clusterroles",
                        R"({"metadata":{"name":"ned"},"rules":[{"verbs":["*"],"apiGroups":["*"],"resources":["*"]}]})")
                  .code,
              201);
    EXPECT_EQ(rig_.post(rights + "clusterrolebindings",
                        R"({"metadata":{"name":"ned"},"roleRef":{"kind":"ClusterRole","name":"ned"},)"
                        R"("subjects":[{"kind":"User","name":"ned"}]})")
                  .code,
              201);
    const std::string flows = "/apis/flowcontrol.apiserver.k8s.io/v1/";
    EXPECT_EQ(
        rig_.post(flows + "prioritylevelconfigurations",
                  R"({"metadata":{"name":"narrow"},"spec":{"type":"Limited","limited":{"nominalConcurrencyShares":0,)"
                  R"("borrowingLimitPercent":0,"limitResponse":{"type":"Queue","queuing":{"queues":2,"handSize":1,)"
                  R"("queueLengthLimit":5}}}}})")
            .code,
        201);
    EXPECT_EQ(
        rig_.post(flows + "flowschemas",
                  R"({"metadata":{"name":"narrow"},"spec":{"matchingPrecedence":10,"priorityLevelConfiguration":)"
                  R"({"name":"narrow"},"rules":[{"subjects":[{"kind":"User","user":{"name":"ned"}}],)"
                  R"("resourceRules":[{"verbs":["*"],"apiGroups":["*"],"resources":["*"],"namespaces":["*"]}]}]}})")
            .code,
        201);
    fill(rig_, 20, 1'000'000);
  }
  /// A list of 20 MB whose answer has begun and is read no further.
  int list_and_stop(const std::string& query) const {
    const int fd = dial();
    const std::string request = "GET " + kConfigMaps + query + " HTTP/1.1\r\nHost: x\r\nImpersonate-User: ned\r\n\r\n";
    EXPECT_EQ(::send(fd, request.data(), request.size(), MSG_NOSIGNAL), static_cast<ssize_t>(request.size()));
    char byte;
    EXPECT_EQ(::recv(fd, &byte, 1, 0), 1);
    return fd;
  }
  Watching ask() {
    return rig_.begin("GET", kConfigMaps + "?limit=1&fieldSelector=metadata.name%3Dnone", {},
                      {{"Impersonate-User", "ned"}});
  }
};

// What nobody reads lies in memory, however it was made: in steps, or whole.
TEST_F(SeatRig, AnAnswerKeepsItsSeatUntilItIsRead) {
  for (const std::string query : {"", "?pretty=1"}) {
    const int slow = list_and_stop(query);
    const auto waiting = ask();
    EXPECT_EQ(rig_.get(kConfigMaps + "/cm-1000").code, 200) << "others go on";
    EXPECT_FALSE(waiting->ended(std::chrono::seconds(0))) << query;
    ::close(slow);
    ASSERT_TRUE(waiting->ended());
    EXPECT_EQ(waiting->code(), 200) << query << waiting->raw();
  }
}

struct ImpatientSeatRig : SeatRig {
  ImpatientSeatRig() : SeatRig(std::chrono::seconds(24)) {}
};

TEST_F(ImpatientSeatRig, WhoDoesNotReadKeepsNobodyElseOut) {
  for (const std::string query : {"", "?pretty=1"}) {
    const int slow = list_and_stop(query);
    const auto waiting = ask();
    ASSERT_TRUE(waiting->ended());
    EXPECT_EQ(waiting->code(), 200) << query << waiting->raw();
    ::close(slow);
  }
}

/// A server over TLS on several loops, and clients with a connection each.
class LoopsRig : public testing::Test {
 protected:
  LoopsRig() {
    net::CertificateRequest request;
    request.common_name = "ca";
    request.is_ca = true;
    authority_ = net::make_certificate(request, nullptr).value();
    request = {};
    request.common_name = "server";
    request.server_auth = true;
    request.ip_addresses = {"127.0.0.1"};
    const auto server = net::make_certificate(request, &authority_).value();
    net::TlsServerConfig config;
    config.certificate_pem = server.certificate_pem;
    config.key_pem = server.key_pem;
    config.client_ca_pem = authority_.certificate_pem;
    const auto address = http_.listen_tls("127.0.0.1:0", net::TlsContext::server(config).value()).value();
    port_ = std::stoi(address.substr(address.rfind(':') + 1));
  }
  ~LoopsRig() override { http_.stop(std::chrono::milliseconds(0)); }

  std::shared_ptr<net::Transport> client() {
    net::CertificateRequest request;
    request.common_name = "admin";
    request.organizations = {"system:masters"};
    request.client_auth = true;
    const auto identity = net::make_certificate(request, &authority_).value();
    net::TlsClientConfig config;
    config.ca_pem = authority_.certificate_pem;
    config.certificate_pem = identity.certificate_pem;
    config.key_pem = identity.key_pem;
    return net::make_http_client(client_loop_.loop(),
                                 {"127.0.0.1", port_, {}, net::TlsContext::client(config).value()});
  }

  static net::Response call(net::Transport& transport, std::string method, std::string target, std::string body = {}) {
    net::Request request;
    request.method = std::move(method);
    request.target = std::move(target);
    if (!body.empty()) request.headers.set("Content-Type", std::string(kJson));
    request.body = std::move(body);
    auto answer = net::fetch(transport, std::move(request), std::chrono::seconds(60));
    EXPECT_TRUE(answer) << answer.error().message;
    return answer.value_or(net::Response{});
  }

  Rig rig_;
  net::LoopThread loop_{"api"}, client_loop_{"client"};
  net::KeyPair authority_;
  net::HttpServer http_{loop_.loop(), rig_.server().handler(), net::HttpServerLimits{.loops_max = 3}};
  int port_ = 0;
};

TEST_F(LoopsRig, ServesOneStoreFromSeveralThreads) {
  constexpr int kClients = 6, kRounds = 20;
  fill(rig_, 200, 1000);  // several steps a list
  std::vector<std::shared_ptr<net::Transport>> clients;
  for (int i = 0; i < kClients; ++i) clients.push_back(client());
  std::vector<Watching> watches;
  for (const auto& transport : clients) {
    Watching& watching = watches.emplace_back();
    watching.tap = std::make_shared<Tap>();
    net::Request request;
    request.method = "GET";
    request.target = kConfigMaps + "?watch=1&labelSelector=loops&resourceVersion=" +
                     std::to_string(rig_.store().snapshot().revision());
    watching.exchange = transport->start(std::move(request), watching.tap, std::chrono::milliseconds(0));
    EXPECT_EQ(watching->code(), 200);
  }
  EXPECT_EQ(http_.loops(), 3u);
  std::vector<std::thread> threads;
  for (int who = 0; who < kClients; ++who)
    threads.emplace_back([&, who] {
      net::Transport& transport = *clients[static_cast<std::size_t>(who)];
      for (int round = 0; round < kRounds; ++round) {
        const std::string name = "loop-" + std::to_string(who) + "-" + std::to_string(round);
        EXPECT_EQ(call(transport, "POST", kConfigMaps,
                       R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":")" + name +
                           R"(","labels":{"loops":"x"}}})")
                      .code,
                  201);
        EXPECT_EQ(call(transport, "GET", kConfigMaps + "/" + name).code, 200);
        EXPECT_GT(call(transport, "GET", kConfigMaps).body.size(), 200'000u);
        EXPECT_EQ(call(transport, "DELETE", kConfigMaps + "/" + name).code, 200);
      }
    });
  for (auto& thread : threads) thread.join();
  constexpr std::size_t kEvents = kClients * kRounds * 2;
  for (auto& watching : watches) {
    EXPECT_FALSE(watching->event(kEvents - 1)["type"].text().empty());
    EXPECT_EQ(watching->count(), kEvents);
  }
}

}  // namespace
}  // namespace sublet::apiserver
