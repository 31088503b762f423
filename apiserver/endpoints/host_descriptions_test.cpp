// OpenAPI v3 over HTTP with a host behind: who asks for a document gets the host's descriptions with it, and what the
// host does not answer is not waited for twice.
#include "apiserver/endpoints/host_descriptions.h"

#include <gtest/gtest.h>

#include "apiserver/server_testing.h"

namespace sublet::apiserver {
namespace {

/// A host of one document.
class DescribingHost {
 public:
  HostOpenApi asked_by() {
    return [this](const std::string& path, const std::function<void(Result<std::string>)>& done) {
      const MutexLock lock(mutex_);
      questions_.push_back(path.empty() ? "hashes" : path);
      if (away_) return done(fail(Reason::service_unavailable, "away"));
      if (path.empty()) return done(R"({"api/v1":")" + hash_ + "\"}");
      done(R"({"components":{"schemas":{"io.k8s.api.core.v1.Pod":{"description":"A pod of )" + hash_ + R"("}}}})");
    };
  }
  void set(std::string hash, bool away) {
    const MutexLock lock(mutex_);
    hash_ = std::move(hash);
    away_ = away;
  }
  std::vector<std::string> questions() {
    const MutexLock lock(mutex_);
    return std::exchange(questions_, {});
  }

 private:
  Mutex mutex_;
  std::string hash_ SUBLET_GUARDED_BY(mutex_) = "1.35";
  bool away_ SUBLET_GUARDED_BY(mutex_) = false;
  std::vector<std::string> questions_ SUBLET_GUARDED_BY(mutex_);
};

using Questions = std::vector<std::string>;

class HostDescriptionsTest : public testing::Test {
 protected:
  std::string url() { return rig_.get("/openapi/v3")["paths"]["api/v1"]["serverRelativeURL"].string(); }
  static std::string text_in(const Reply& reply) {
    return reply["components"]["schemas"]["io.k8s.api.core.v1.Pod"]["description"].string();
  }
  static ServerOptions options(DescribingHost& host) {
    ServerOptions options;
    options.host_openapi = host.asked_by();
    return options;
  }

  DescribingHost host_;
  ManualClock clock_{std::chrono::system_clock::now()};
  Rig rig_{options(host_), clock_};
};

TEST_F(HostDescriptionsTest, ComeWithTheDocumentThatTheIndexPromises) {
  const std::string first = url();
  EXPECT_EQ(host_.questions(), Questions{"hashes"});
  const Reply document = rig_.get(first);
  EXPECT_EQ(text_in(document), "A pod of 1.35");
  EXPECT_EQ(document.headers.get("Cache-Control"), "public, immutable");
  EXPECT_EQ(host_.questions(), Questions{"api/v1"});
  EXPECT_EQ(text_in(rig_.get(first)), "A pod of 1.35");
  EXPECT_EQ(url(), first);
  EXPECT_EQ(host_.questions(), Questions{}) << "both are known";
  EXPECT_EQ(rig_.get("/openapi/v3/apis/apps/v1").code, 200);
  EXPECT_EQ(host_.questions(), Questions{}) << "the host has none of that";

  host_.set("1.36", false);
  clock_.advance(std::chrono::minutes(2));
  const std::string second = url();
  EXPECT_NE(second, first);
  EXPECT_EQ(rig_.get(first).code, 301) << "a client that comes with the old hash";
  EXPECT_EQ(text_in(rig_.get(second)), "A pod of 1.36");
}

TEST_F(HostDescriptionsTest, AreNotWaitedForWhileTheHostIsAway) {
  host_.set("1.34", true);
  const std::string without = url();
  const Reply plain = rig_.get(without);
  EXPECT_EQ(text_in(plain), "");
  EXPECT_EQ(plain.headers.get("Cache-Control"), "public, immutable") << "that is what this hash means";
  EXPECT_EQ(host_.questions(), Questions{"hashes"}) << "asked once";

  host_.set("1.34", false);
  EXPECT_EQ(url(), without) << "it is not asked again at once";
  clock_.advance(std::chrono::seconds(11));
  const std::string with = url();
  EXPECT_NE(with, without);

  // Known by its hashes, and away when the document is wanted.
  host_.set("1.34", true);
  host_.questions();
  const Reply poor = rig_.get(with);
  EXPECT_EQ(poor.code, 200);
  EXPECT_EQ(text_in(poor), "");
  EXPECT_EQ(poor.headers.get("Cache-Control"), "no-cache") << "nobody keeps it under this hash";
  EXPECT_EQ(text_in(rig_.get(with)), "");
  EXPECT_EQ(host_.questions(), Questions{"api/v1"}) << "asked once";
  EXPECT_EQ(url(), with) << "who has it with texts keeps it";
  host_.set("1.34", false);
  clock_.advance(std::chrono::seconds(11));
  EXPECT_EQ(text_in(rig_.get(with)), "A pod of 1.34");
}

}  // namespace
}  // namespace sublet::apiserver
