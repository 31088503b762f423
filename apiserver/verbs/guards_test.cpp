// Between the look at the store and the commit another loop may write the same object: then the guard fails, and the
// write is prepared again. Here a store lets somebody else's write in at exactly that moment.
#include <gtest/gtest.h>

#include "apiserver/server_testing.h"
#include "sublet/net/http.h"

namespace sublet::apiserver {
namespace {

/// A store in memory; before the next submit with changes, `between` runs.
class RacingStore final : public store::Store {
 public:
  store::Snapshot snapshot() const override { return below_->snapshot(); }
  store::Snapshot pending() const override { return below_->pending(); }
  Result<store::Snapshot> snapshot_at(store::Revision revision) const override { return below_->snapshot_at(revision); }
  bool submit(store::Txn txn, store::CommitCallback done) override {
    if (!txn.ops.empty())
      if (const auto between = std::exchange(between_, {})) between();
    return below_->submit(std::move(txn), std::move(done));
  }
  Result<store::Changes> changes(std::string_view prefix, store::Revision from, std::size_t max) const override {
    return below_->changes(prefix, from, max);
  }
  std::unique_ptr<store::Subscription> listen(std::function<void()> committed) override {
    return below_->listen(std::move(committed));
  }
  Result<std::unique_ptr<store::Subscription>> watch(std::string_view prefix, store::Revision from,
                                                     std::shared_ptr<store::Watcher> watcher) override {
    return below_->watch(prefix, from, std::move(watcher));
  }
  std::pair<store::Snapshot, std::unique_ptr<store::Subscription>> snapshot_and_watch(
      std::string_view prefix, std::shared_ptr<store::Watcher> watcher) override {
    return below_->snapshot_and_watch(prefix, std::move(watcher));
  }
  Outcome compact(store::Revision revision) override { return below_->compact(revision); }
  store::Revision compacted() const override { return below_->compacted(); }
  store::StoreStats stats() const override { return below_->stats(); }
  store::StoreUsage usage() const override { return below_->usage(); }
  void close() override { below_->close(); }

  void between(std::function<void(Store& below)> write) {
    between_ = [this, write = std::move(write)] { write(*below_); };
  }
  bool came_between() const { return !between_; }

 private:
  std::unique_ptr<Store> below_ = Store::open(store::make_memory_log()).value();
  std::function<void()> between_;  // the loop's, but for between() while it rests
};

const std::string kKey = "configmaps/test/a";

/// Somebody else's object, or version of it.
store::Put others() {
  store::Put put;
  const std::string head = R"({"metadata":{"name":"a","namespace":"test","uid":"others","resourceVersion":")";
  put.hole = static_cast<std::uint32_t>(head.size());
  put.bytes = head + R"("},"data":{"theirs":"1"}})";
  put.index.uid = "others";
  return put;
}

class Guards : public testing::Test {
 protected:
  Guards() : loop_("guards") {
    EXPECT_TRUE(server_.start());
    net::PeerIdentity identity;
    identity.kind = net::PeerIdentity::Kind::in_process;
    transport_ = net::make_in_process_transport(server_.handler(), identity);
    EXPECT_EQ(call("POST", "/api/v1/namespaces", R"({"metadata":{"name":"test"}})").code, 201);
  }
  ~Guards() override {
    transport_.reset();
    server_.stop();
    store_.close();
  }

  Reply call(std::string method, std::string target, std::string body, std::string_view type = kJson) {
    net::Request request;
    request.method = std::move(method);
    request.target = std::move(target);
    request.headers.set("Content-Type", std::string(type));
    request.body = std::move(body);
    const auto response = net::fetch(*transport_, std::move(request), std::chrono::seconds(60));
    Reply reply;
    EXPECT_TRUE(response) << response.error().message;
    if (!response) return reply;
    reply.code = response->code;
    if (auto document = schema::Document::parse_json(response->body)) reply.json = std::move(*document);
    return reply;
  }
  Reply create() { return call("POST", kConfigMaps, R"({"metadata":{"name":"a"},"data":{"ours":"1"}})"); }
  schema::Document stored() const { return schema::Document::parse_json(store_.snapshot().get(kKey)->json()).value(); }

  RacingStore store_;
  net::LoopThread loop_;
  Server server_{store_, loop_.loop(), {}};
  std::unique_ptr<net::Transport> transport_;
};

TEST_F(Guards, ACreateDoesNotReplaceWhatCameBetween) {
  store_.between([](store::Store& below) { EXPECT_TRUE(below.commit({.ops = {{kKey, others()}}})); });
  EXPECT_EQ(create().code, 409);
  ASSERT_TRUE(store_.came_between());
  EXPECT_EQ(stored()["metadata"]["uid"].text(), "others");
}

TEST_F(Guards, ANamespaceThatWentBetweenTakesNothing) {
  store_.between([](store::Store& below) {
    EXPECT_TRUE(below.commit({.guards = {}, .ops = {{"namespaces/test", std::nullopt}}}));
  });
  EXPECT_EQ(create().code, 404);
  ASSERT_TRUE(store_.came_between());
  EXPECT_EQ(store_.snapshot().get(kKey), nullptr);
}

TEST_F(Guards, APatchKeepsWhatCameBetween) {
  ASSERT_EQ(create().code, 201);
  store_.between([](store::Store& below) { EXPECT_TRUE(below.commit({.ops = {{kKey, others()}}})); });
  const auto patched = call("PATCH", kConfigMaps + "/a", R"({"data":{"more":"2"}})", "application/merge-patch+json");
  EXPECT_EQ(patched.code, 200);
  ASSERT_TRUE(store_.came_between());
  EXPECT_EQ(stored()["data"]["theirs"].text(), "1");
  EXPECT_EQ(stored()["data"]["more"].text(), "2");
}

TEST_F(Guards, AConditionalDeleteSparesWhatCameBetween) {
  const std::string uid = create().text("metadata.uid");
  store_.between([](store::Store& below) { EXPECT_TRUE(below.commit({.ops = {{kKey, others()}}})); });
  EXPECT_EQ(call("DELETE", kConfigMaps + "/a", R"({"preconditions":{"uid":")" + uid + R"("}})").code, 409);
  ASSERT_TRUE(store_.came_between());
  EXPECT_EQ(stored()["metadata"]["uid"].text(), "others");
}

TEST_F(Guards, AnUpdateOfWhatWasRemovedBetweenIsNotACreate) {
  const std::string version = create().version();
  store_.between([](store::Store& below) { EXPECT_TRUE(below.commit({.ops = {{kKey, std::nullopt}}})); });
  const auto updated = call("PUT", kConfigMaps + "/a",
                            R"({"metadata":{"name":"a","resourceVersion":")" + version + R"("},"data":{"k":"w"}})");
  EXPECT_EQ(updated.code, 404);
  EXPECT_EQ(store_.snapshot().get(kKey), nullptr);
}

}  // namespace
}  // namespace sublet::apiserver
