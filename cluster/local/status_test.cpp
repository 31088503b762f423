#include "cluster/local/status.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include "cluster/folder_testing.h"
#include "sublet/base/files.h"
#include "sublet/net/http_server.h"

namespace sublet::cluster {
namespace {

using std::chrono::steady_clock;

// A virtual cluster's folder with the lock held, as its daemons hold it, and a server on its socket.
class Living {
 public:
  Living(net::Loop& loop, const std::string& folder, bool answers)
      : lock_((std::filesystem::create_directories(folder),
               ::open((folder + "/daemon.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600))) {
    cluster.folder = folder;
    EXPECT_EQ(::flock(lock_.fd, LOCK_EX | LOCK_NB), 0);
    server_ = std::make_unique<net::HttpServer>(
        loop, [this, answers](const net::Request& request, const std::shared_ptr<net::ResponseSink>& sink) {
          EXPECT_EQ(request.target, "/version");
          if (answers)
            sink->respond(200, {}, R"({"gitVersion":"v1.35.0"})");
          else
            held_.push_back(sink);
        });
    EXPECT_TRUE(server_->listen_unix(cluster.socket_path()));
  }
  ~Living() { server_->stop(std::chrono::milliseconds(0)); }
  VirtualCluster cluster;

 private:
  const Descriptor lock_;
  std::vector<std::shared_ptr<net::ResponseSink>> held_;
  std::unique_ptr<net::HttpServer> server_;
};

TEST(Status, AllAreAskedAtOnceAndOneThatHangsCostsItsPatienceOnce) {
  const testing_support::TestFolder folder;
  net::LoopThread loop("servers");
  std::vector<std::unique_ptr<Living>> living;
  std::vector<VirtualCluster> clusters;
  for (int i = 0; i < 20; ++i) {
    living.push_back(std::make_unique<Living>(loop.loop(), folder.path + "/" + std::to_string(i), i % 2 == 0));
    clusters.push_back(living.back()->cluster);
  }
  VirtualCluster stopped;
  stopped.folder = folder.path + "/stopped";
  clusters.push_back(stopped);
  constexpr std::chrono::milliseconds kPatience{500};
  const auto begun = steady_clock::now();
  const auto statuses = ask_all(clusters, true, kPatience);
  EXPECT_LT(steady_clock::now() - begun, 4 * kPatience) << "ten that hang were waited for one after the other";
  ASSERT_EQ(statuses.size(), clusters.size());
  for (std::size_t i = 0; i < 20; ++i) {
    EXPECT_EQ(statuses[i].status, i % 2 == 0 ? "Running" : "Starting") << i;
    EXPECT_EQ(statuses[i].version, i % 2 == 0 ? "v1.35.0" : "-") << i;
  }
  EXPECT_EQ(statuses[20].status, "Stopped");
}

TEST(Status, OneThatRunsWithoutItsEmbeddedHostSaysSo) {
  const testing_support::TestFolder folder;
  net::LoopThread loop("servers");
  Living one(loop.loop(), folder.path + "/one", true), other(loop.loop(), folder.path + "/other", true);
  one.cluster.embedded_host = true;
  const std::vector<VirtualCluster> clusters{one.cluster, other.cluster};
  const auto statuses = ask_all(clusters, false, std::chrono::seconds(10));
  EXPECT_EQ(statuses[0].status, "HostDown");
  EXPECT_EQ(statuses[1].status, "Running");
  EXPECT_EQ(ask_all(clusters, true, std::chrono::seconds(10))[0].status, "Running");
}

}  // namespace
}  // namespace sublet::cluster
