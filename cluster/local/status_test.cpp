#include "cluster/local/status.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include "cluster/folder_testing.h"
#include "sublet/base/descriptor.h"
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
    cluster.layout = LocalLayout(folder);
    EXPECT_EQ(::flock(lock_.get(), LOCK_EX | LOCK_NB), 0);
    server_ = std::make_unique<net::HttpServer>(
        loop, [this, answers](const net::Request& request, const std::shared_ptr<net::ResponseSink>& sink) {
          EXPECT_EQ(request.target, "/version");
          if (answers)
            sink->respond(200, {}, R"({"gitVersion":"v1.35.0"})");
          else
            held_.push_back(sink);
        });
    EXPECT_TRUE(server_->listen_unix(cluster.layout.socket_path()));
  }
  ~Living() { server_->stop(std::chrono::milliseconds(0)); }
  // Stands on a host of its own choice, with that kubeconfig.
  void stand_on(const std::string& server) {
    kube::ClusterAccess host;
    host.context_name = host.cluster_name = host.user_name = "prod";
    host.server = server;
    EXPECT_TRUE(write_private_file(cluster.layout.host_kubeconfig_path(), kube::render_kubeconfig(host)));
  }
  LocalCluster cluster;

 private:
  const Descriptor lock_;
  std::vector<std::shared_ptr<net::ResponseSink>> held_;
  std::unique_ptr<net::HttpServer> server_;
};

// The commands' connector is another; this one counts how often a host was asked for.
struct BySocket {
  net::LoopThread& loop;
  std::shared_ptr<int> asked = std::make_shared<int>(0);
  Result<std::shared_ptr<net::Transport>> operator()(const kube::ClusterAccess& access) const {
    ++*asked;
    return kube::connect(loop.loop(), access);
  }
};
BySocket by_socket(net::LoopThread& loop) { return {loop}; }

// A host: answers as it is told to, or not at all.
class RealHost {
 public:
  RealHost(net::Loop& loop, const std::string& socket, int code)
      : server_(loop, [this, code](const net::Request&, const std::shared_ptr<net::ResponseSink>& sink) {
          if (code)
            sink->respond(code, {}, "{}");
          else
            held_.push_back(sink);
        }) {
    EXPECT_TRUE(server_.listen_unix(socket));
    address = "unix://" + socket;
  }
  ~RealHost() { server_.stop(std::chrono::milliseconds(0)); }
  std::string address;

 private:
  std::vector<std::shared_ptr<net::ResponseSink>> held_;
  net::HttpServer server_;
};

TEST(Status, AllAreAskedAtOnceAndOneThatHangsCostsItsPatienceOnce) {
  const testing_support::TestFolder folder;
  net::LoopThread loop("servers");
  std::vector<std::unique_ptr<Living>> living;
  std::vector<LocalCluster> clusters;
  for (int i = 0; i < 20; ++i) {
    living.push_back(std::make_unique<Living>(loop.loop(), folder.path + "/" + std::to_string(i), i % 2 == 0));
    living.back()->cluster.record.embedded_host = true;
    clusters.push_back(living.back()->cluster);
  }
  const LocalCluster stopped{{}, LocalLayout(folder.path + "/stopped")};
  clusters.push_back(stopped);
  constexpr std::chrono::milliseconds kPatience{500};
  const auto begun = steady_clock::now();
  const auto statuses = ask_all(clusters, true, by_socket(loop), kPatience);
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
  const RealHost host(loop.loop(), folder.path + "/host.sock", 200);
  one.cluster.record.embedded_host = true;
  other.stand_on(host.address);
  const std::vector<LocalCluster> clusters{one.cluster, other.cluster};
  const auto statuses = ask_all(clusters, false, by_socket(loop), std::chrono::seconds(10));
  EXPECT_EQ(statuses[0].status, "HostDown");
  EXPECT_EQ(statuses[1].status, "Running");
  EXPECT_EQ(ask_all(clusters, true, by_socket(loop), std::chrono::seconds(10))[0].status, "Running");
}

TEST(Status, OneWhoseRealHostIsAwaySaysSoToo) {
  const testing_support::TestFolder folder;
  net::LoopThread loop("servers");
  const RealHost unfriendly(loop.loop(), folder.path + "/unfriendly.sock", 401);
  const RealHost hanging(loop.loop(), folder.path + "/hanging.sock", 0);
  const std::string servers[] = {unfriendly.address, hanging.address, "unix://" + folder.path + "/nobody.sock"};
  std::vector<std::unique_ptr<Living>> living;
  std::vector<LocalCluster> clusters;
  for (int i = 0; i < 9; ++i) {
    living.push_back(std::make_unique<Living>(loop.loop(), folder.path + "/" + std::to_string(i), true));
    living.back()->stand_on(servers[i % 3]);
    clusters.push_back(living.back()->cluster);
  }
  const BySocket connect = by_socket(loop);
  constexpr std::chrono::milliseconds kPatience{500};
  const auto begun = steady_clock::now();
  const auto statuses = ask_all(clusters, true, connect, kPatience);
  EXPECT_LT(steady_clock::now() - begun, 4 * kPatience);
  for (std::size_t i = 0; i < clusters.size(); ++i) {
    EXPECT_EQ(statuses[i].status, i % 3 == 0 ? "Running" : "HostDown") << i << ": an answer of any kind is one";
    EXPECT_EQ(statuses[i].version, "v1.35.0");
  }
  EXPECT_EQ(*connect.asked, 3) << "a host was asked more than once";
}

}  // namespace
}  // namespace sublet::cluster
