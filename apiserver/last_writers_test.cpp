#include "sublet/apiserver/last_writers.h"

#include <gtest/gtest.h>

#include "apiserver/server_testing.h"

namespace sublet::apiserver {
namespace {

std::string last_writer(const LastWriters& writers, const std::string& key, store::Revision revision) {
  const auto writer = writers.writer_of(key, revision);
  return writer ? writer->user + " " + writer->request_id : "";
}

TEST(LastWriters, TellsTheLastOneUpToTheVersionThatWasCarried) {
  LastWriters writers;
  writers.wrote("pods/a/x", 5, "jane", "r1");
  writers.wrote("pods/a/y", 6, "eve", "r2");
  writers.wrote("pods/a/x", 8, "joe", "r3");
  EXPECT_EQ(last_writer(writers, "pods/a/x", 5), "jane r1");
  EXPECT_EQ(last_writer(writers, "pods/a/x", 7), "jane r1");  // what the syncer itself wrote in between
  EXPECT_EQ(last_writer(writers, "pods/a/x", 8), "joe r3");
  EXPECT_EQ(last_writer(writers, "pods/a/x", 0), "joe r3");
  EXPECT_EQ(last_writer(writers, "pods/a/x", 4), "");
  EXPECT_EQ(last_writer(writers, "pods/a/z", 0), "");
}

TEST(LastWriters, ForgetsTheOldestAndKeepsNoMoreThanItSays) {
  LastWriters writers;
  const auto key = [](std::size_t i) { return "pods/a/p" + std::to_string(i); };
  for (std::size_t i = 0; i < LastWriters::kWritesMax + 10; ++i) writers.wrote(key(i), i + 1, "u", "r");
  EXPECT_EQ(last_writer(writers, key(9), 0), "");
  EXPECT_EQ(last_writer(writers, key(10), 0), "u r");
  for (std::size_t i = 0; i < LastWriters::kWritesMax; ++i) writers.wrote("pods/a/busy", 20'000 + i, "v", "s");
  EXPECT_EQ(last_writer(writers, key(LastWriters::kWritesMax + 9), 0), "");
  EXPECT_EQ(last_writer(writers, "pods/a/busy", 0), "v s");
  EXPECT_EQ(last_writer(writers, "pods/a/busy", 20'000), "");  // of one object so many and no more
}

/// A server that a syncer asks.
class LastWritersOfAServer : public testing::Test {
 protected:
  static ServerOptions with(const std::shared_ptr<LastWriters>& writers) {
    ServerOptions options;
    options.last_writers = writers;
    return options;
  }
  std::string asked(net::PeerIdentity::Kind kind, const std::string& key, const std::string& version) const {
    net::PeerIdentity peer;
    peer.kind = kind;
    const auto transport = net::make_in_process_transport(
        [this, peer](net::Request request, std::shared_ptr<net::ResponseSink> sink) {
          request.peer = peer;
          writers_->wrap([](const net::Request&, const std::shared_ptr<net::ResponseSink>& inner) {
            inner->respond(404, {}, "nothing");
          })(std::move(request), std::move(sink));
        },
        peer);
    net::Request request;
    request.method = "POST";
    request.target = "/sublet.dev/v1/writers";
    request.body = R"({"items":[{"key":")" + key + R"(","resourceVersion":")" + version + "\"}]}";
    return net::fetch(*transport, std::move(request), std::chrono::seconds(60))->body;
  }
  const std::shared_ptr<LastWriters> writers_ = std::make_shared<LastWriters>();
  Rig rig_{{}, with(writers_)};
};

TEST_F(LastWritersOfAServer, KnowsWhoMadeChangedAndRemoved) {
  const auto as = [this](const std::string& user, const char* id, std::string method, std::string target,
                         std::string body) {
    net::Headers headers{{"Impersonate-User", user}, {"Impersonate-Group", "system:masters"}, {"Audit-ID", id}};
    headers.add("Content-Type", method == "PATCH" ? "application/merge-patch+json" : "application/json");
    return rig_.call(std::move(method), std::move(target), std::move(body), std::move(headers));
  };
  const auto made =
      as("jane", "r1", "POST", kConfigMaps, R"({"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"}})");
  ASSERT_EQ(made.code, 201) << made.body;
  const auto kept = as("system:sublet:syncer", "r2", "PATCH", kConfigMaps + "/a", R"({"data":{"a":"b"}})");
  ASSERT_EQ(kept.code, 200) << kept.body;
  const std::string key = "configmaps/test/a";
  EXPECT_EQ(asked(net::PeerIdentity::Kind::unix_socket, key, kept.version()),
            R"({"items":[{"user":"jane","requestId":"r1"}]})");
  ASSERT_EQ(as("joe", "r3", "DELETE", kConfigMaps + "/a", "").code, 200);
  EXPECT_EQ(asked(net::PeerIdentity::Kind::unix_socket, key, made.version()),
            R"({"items":[{"user":"jane","requestId":"r1"}]})");
  EXPECT_EQ(asked(net::PeerIdentity::Kind::unix_socket, key, ""), R"({"items":[{"user":"joe","requestId":"r3"}]})");
  for (const char* name : {"b", "c"}) ASSERT_EQ(rig_.make_config_map(name).code, 201);
  ASSERT_EQ(as("eve", "r4", "DELETE", kConfigMaps, "").code, 200);
  for (const char* name : {"b", "c"})
    EXPECT_EQ(asked(net::PeerIdentity::Kind::unix_socket, std::string("configmaps/test/") + name, ""),
              R"({"items":[{"user":"eve","requestId":"r4"}]})");
  EXPECT_EQ(asked(net::PeerIdentity::Kind::unix_socket, key, "x"), R"({"items":[{}]})");
  EXPECT_EQ(asked(net::PeerIdentity::Kind::certificate, key, ""), "nothing");
}

TEST_F(LastWritersOfAServer, IsToldOfNothingThatNeverCrosses) {
  ASSERT_EQ(rig_.post("/api/v1/namespaces/test/events",
                      R"({"kind":"Event","apiVersion":"v1","metadata":{"name":"e","namespace":"test"},)"
                      R"("involvedObject":{"namespace":"test"}})")
                .code,
            201);
  EXPECT_EQ(asked(net::PeerIdentity::Kind::unix_socket, "events/test/e", ""), R"({"items":[{}]})");
}

}  // namespace
}  // namespace sublet::apiserver
