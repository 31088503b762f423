#include "sublet/apiserver/tunnel.h"

#include <gtest/gtest.h>

#include <future>
#include <vector>

#include "apiserver/server_testing.h"

namespace sublet::apiserver {
namespace {

/// A tunnel with a client that asks for a log by GET /log, and a syncer on the unix socket.
class TunnelTest : public testing::Test {
 protected:
  Watching call(std::string method, std::string target, std::string body = {}) {
    net::Request request;
    request.method = std::move(method);
    request.target = std::move(target);
    request.body = std::move(body);
    Watching out;
    out.tap = std::make_shared<Tap>();
    out.exchange = transport_->start(std::move(request), out.tap, std::chrono::seconds(60));
    return out;
  }
  /// A client's request that has become the job of that id.
  Watching begin(const std::string& id) {
    auto poll = call("GET", "/sublet.dev/v1/tunnel");
    auto client = call("GET", "/log");
    EXPECT_TRUE(poll->ended());
    EXPECT_NE(poll->raw().find(R"("id":")" + id + '"'), std::string::npos) << poll->raw();
    return client;
  }
  int piece(const std::string& query, std::string body = {}) {
    const auto post = call("POST", "/sublet.dev/v1/tunnel/" + query, std::move(body));
    EXPECT_TRUE(post->ended());
    return post->code();
  }
  /// As what comes over the unix socket.
  static net::Handler from_socket(net::Handler inner) {
    return [inner = std::move(inner)](net::Request request, std::shared_ptr<net::ResponseSink> sink) {
      request.peer.kind = net::PeerIdentity::Kind::unix_socket;
      inner(std::move(request), std::move(sink));
    };
  }

  ManualClock clock_;
  net::LoopThread loop_{"tunnel"};
  Tunnel tunnel_{loop_.loop(), clock_};
  const std::unique_ptr<net::Transport> transport_ = net::make_in_process_transport(
      from_socket(
          tunnel_.wrap([logs = tunnel_.pod_logs()](const net::Request&, std::shared_ptr<net::ResponseSink> sink) {
            logs({"default", "web", "uid-1", ""}, std::move(sink));
          })),
      {}, &loop_.loop());
};

TEST_F(TunnelTest, TheHostsCodeAndBodyReachTheClient) {
  const auto client = begin("1");
  EXPECT_EQ(piece("1?code=404&end=1", "no such container"), 200);
  ASSERT_TRUE(client->ended());
  EXPECT_EQ(client->code(), 404);
  EXPECT_EQ(client->raw(), "no such container");
  EXPECT_EQ(piece("1?end=1"), 410);
}

TEST_F(TunnelTest, WhatIsNoCodeIsRefusedAndTheClientIsTold) {
  int id = 0;
  for (const char* code : {"abc", "99999999999999999999", "-200", "42", "200x", "100"}) {
    const std::string name = std::to_string(++id);
    const auto client = begin(name);
    EXPECT_EQ(piece(name + "?end=1&code=" + code), 400) << code;
    ASSERT_TRUE(client->ended()) << code;
    EXPECT_EQ(client->code(), 500) << code;
    EXPECT_EQ(piece(name + "?end=1"), 410) << code;
  }
}

TEST_F(TunnelTest, TheSyncerIsToldWhenAClientHasGoneFromALogThatSaysNothing) {
  auto client = begin("1");
  EXPECT_EQ(piece("1?code=200", "the beginning\n"), 200);
  client.exchange.reset();
  const auto poll = call("GET", "/sublet.dev/v1/tunnel");
  EXPECT_TRUE(poll->ended());
  EXPECT_EQ(poll->raw(), R"({"closed":["1"]})");
  EXPECT_EQ(piece("1?end=1"), 410);
}

TEST_F(TunnelTest, ManyWhoGoAtOnceTakeNobodysPlaceInLine) {
  constexpr int kMany = 80;
  std::vector<Watching> clients;
  std::string ids;
  for (int i = 1; i <= kMany; ++i) {
    clients.push_back(begin(std::to_string(i)));
    EXPECT_EQ(piece(std::to_string(i) + "?code=200", "the beginning\n"), 200);
    ids += (i > 1 ? ",\"" : "\"") + std::to_string(i) + '"';
  }
  clients.clear();
  const auto next = call("GET", "/log");
  const auto closed = call("GET", "/sublet.dev/v1/tunnel");
  ASSERT_TRUE(closed->ended());
  EXPECT_EQ(closed->raw(), "{\"closed\":[" + ids + "]}");
  const auto job = call("GET", "/sublet.dev/v1/tunnel");
  ASSERT_TRUE(job->ended());
  EXPECT_NE(job->raw().find(R"("id":"81")"), std::string::npos) << job->raw();
  EXPECT_EQ(piece("81?end=1", "a line"), 200);
  ASSERT_TRUE(next->ended());
  EXPECT_EQ(next->code(), 200) << next->raw();
}

TEST_F(TunnelTest, AStreamThatGoesWrongIsCutOff) {
  const auto client = begin("1");
  EXPECT_EQ(piece("1?code=200", "the beginning\n"), 200);
  EXPECT_EQ(piece("1?code=abc", "and so on"), 400);
  EXPECT_TRUE(client->ended());
  EXPECT_EQ(client->code(), 200);
  EXPECT_EQ(client->raw().find("and so on"), std::string::npos);
}

class TunnelCallTest : public TunnelTest {
 protected:
  ServiceCall question(std::chrono::milliseconds timeout = std::chrono::seconds(60)) {
    ServiceCall call{"default", "hook", "uid-1", 9443, "hook.default.svc", "pem", {}, timeout};
    call.request.method = "POST";
    call.request.target = "/x";
    call.request.body = "hello";
    return call;
  }
  std::shared_ptr<void> ask(std::chrono::milliseconds timeout = std::chrono::seconds(60)) {
    return tunnel_.service_calls()(question(timeout),
                                   [this](Result<net::Response> response) { answer_.set_value(std::move(response)); });
  }
  std::promise<Result<net::Response>> answer_;
};

TEST_F(TunnelCallTest, ACallIsAJobAndItsAnswerComesBack) {
  const auto poll = call("GET", "/sublet.dev/v1/tunnel");
  const auto asked = ask();
  ASSERT_TRUE(poll->ended());
  EXPECT_EQ(
      poll->raw(),
      R"({"id":"1","namespace":"default","pod":"hook","uid":"uid-1","query":"","call":{"port":9443,)"
      R"("serverName":"hook.default.svc","ca":"pem","method":"POST","target":"/x","headers":[],"body":"aGVsbG8=","timeout":60000}})");
  EXPECT_EQ(piece("1?code=201", "a"), 200);
  EXPECT_EQ(piece("1?code=201&end=1", "b"), 200);
  const auto answer = answer_.get_future().get();
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->code, 201);
  EXPECT_EQ(answer->body, "ab");
}

TEST_F(TunnelCallTest, ASyncerThatDoesNotComeIsNotWaitedFor) {
  const auto asked = ask(std::chrono::milliseconds(20));
  const auto answer = answer_.get_future().get();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().reason, Reason::timeout);
}

TEST_F(TunnelCallTest, WhoNoLongerWaitsIsNotAnswered) {
  const auto poll = call("GET", "/sublet.dev/v1/tunnel");
  auto asked = ask();
  ASSERT_TRUE(poll->ended());
  asked.reset();
  EXPECT_EQ(piece("1?code=200&end=1", "late"), 410);
}

// `sublet create` returns when both processes have said that they are ready: who asks then is not to be told that there
// is no host because the first poll is still on its way.
TEST_F(TunnelTest, WhoAsksForTheHostsOpenApiBeforeTheFirstPollWaitsForIt) {
  std::promise<Result<std::string>> heard;
  auto told = heard.get_future();
  tunnel_.host_openapi()("apis/apps/v1", [&](Result<std::string> answer) { heard.set_value(std::move(answer)); });
  const auto poll = call("GET", "/sublet.dev/v1/tunnel");
  ASSERT_TRUE(poll->ended());
  EXPECT_EQ(poll->raw(), R"({"id":"1","openapi":"apis/apps/v1"})");
  EXPECT_EQ(piece("1?code=200&end=1", "{}"), 200);
  EXPECT_EQ(told.get().value_or("none"), "{}");
}

TEST_F(TunnelTest, TheHostsOpenApiIsAskedForWhileASyncerIsThere) {
  clock_.advance(std::chrono::seconds(11));
  std::promise<Result<std::string>> nobody;
  tunnel_.host_openapi()("", [&](Result<std::string> answer) { nobody.set_value(std::move(answer)); });
  const auto none = nobody.get_future();
  ASSERT_EQ(none.wait_for(std::chrono::seconds(0)), std::future_status::ready) << "without a syncer it is no at once";

  for (const auto& [query, body] : std::initializer_list<std::pair<const char*, const char*>>{
           {"1?code=200", R"({"openapi":"3.0.0"})"}, {"2?code=403", "no"}, {"3?code=200", "cut off"}}) {
    const auto poll = call("GET", "/sublet.dev/v1/tunnel");
    EXPECT_EQ(piece("none?end=1"), 410);  // which comes behind it: the poll is parked
    std::promise<Result<std::string>> heard;
    auto told = heard.get_future();
    tunnel_.host_openapi()("apis/apps/v1", [&](Result<std::string> answer) { heard.set_value(std::move(answer)); });
    ASSERT_TRUE(poll->ended(std::chrono::seconds(10)))
        << query << (told.wait_for(std::chrono::seconds(0)) == std::future_status::ready ? ": told already" : "");
    EXPECT_EQ(poll->raw(), std::string(R"({"id":")") + query[0] + R"(","openapi":"apis/apps/v1"})");
    const std::string_view text = body;
    if (text == "cut off") {
      EXPECT_EQ(piece(query, body), 200);
      EXPECT_EQ(piece("3?end=broken", ""), 200);
    } else {
      EXPECT_EQ(piece(std::string(query) + "&end=1", body), 200);
    }
    const auto answer = told.get();
    EXPECT_EQ(answer ? *answer : "none", text.starts_with("{") ? text : "none");
  }
}

}  // namespace
}  // namespace sublet::apiserver
