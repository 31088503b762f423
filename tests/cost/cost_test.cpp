// What one create, GET, LIST and apply costs in allocations and syncs, beside what was recorded in costs.txt: they may
// not grow.
//
// The server is whole (filters, verbs, store, SQLite on disk) and is asked in process, one request at a time. A figure
// is the least of five averages, so that what a thread does now and then (a checkpoint, a compaction) does not count.
// After a change that is worth its cost: SUBLET_RECORD_COSTS=1 cost_test, and say in the commit why.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "sublet/apiserver/server.h"
#include "sublet/net/http.h"
#include "sublet/net/loop.h"
#include "sublet/store/sqlite_log.h"
#include "sublet/store/store.h"
#include "tests/cost/counted.h"
#include "tests/support/source_path.h"

namespace sublet {
namespace {

constexpr int kRequests = 100;  // per average
constexpr int kListed = 100;    // ConfigMaps in the LIST
/// How far above its record a figure may lie: compilers differ in what they optimize away.
constexpr double kMargin = 1.05;
constexpr double kSlack = 2;

const std::string kCostsFile = source_path("tests/cost/costs.txt");

class Cluster {
 public:
  Cluster() : loop_("cost") {
    auto log = store::open_sqlite_log({.path = (folder_ / "state.db").string()});
    EXPECT_TRUE(log);
    auto store = store::Store::open(std::move(*log));
    EXPECT_TRUE(store);
    store_ = std::move(*store);
    server_ = std::make_unique<apiserver::Server>(*store_, loop_.loop(), apiserver::ServerOptions());
    EXPECT_TRUE(server_->start());
    net::PeerIdentity identity;
    identity.kind = net::PeerIdentity::Kind::in_process;
    identity.common_name = "tester";
    transport_ = net::make_in_process_transport(server_->handler(), identity);
    expect(201, "POST", "/api/v1/namespaces", R"({"metadata":{"name":"listed"}})");
    expect(201, "POST", "/api/v1/namespaces", R"({"metadata":{"name":"made"}})");
    for (int i = 0; i < kListed; ++i) create("listed", "map-" + std::to_string(i));
  }
  ~Cluster() {
    server_->stop();
    store_->close();
    transport_.reset();
    server_.reset();
    std::filesystem::remove_all(folder_);
  }

  void create(const std::string& namespace_name, const std::string& name) {
    expect(201, "POST", "/api/v1/namespaces/" + namespace_name + "/configmaps",
           R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":")" + name + R"("},"data":{"k":")" + payload_ +
               "\"}}");
  }
  /// A value of a Deployment's with forty variables; all else is applied as it was.
  void apply(int code, int turn) {
    std::string variables;
    for (int i = 0; i < 40; ++i)
      variables += R"({"name":"VARIABLE_)" + std::to_string(i) + R"(","value":"something"},)";
    expect(code, "PATCH", "/apis/apps/v1/namespaces/made/deployments/applied?fieldManager=tester",
           R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"applied"},"spec":{"selector":{)"
           R"("matchLabels":{"app":"bench"}},"template":{"metadata":{"labels":{"app":"bench"}},"spec":{"containers":[)"
           R"({"name":"main","image":"example/main:1","env":[)" +
               variables + R"({"name":"TURN","value":")" + std::to_string(turn) + R"("}]}]}}}})",
           "application/apply-patch+yaml");
  }
  void expect(int code, std::string method, std::string target, std::string body = {},
              const std::string& type = "application/json") {
    net::Request request;
    request.method = std::move(method);
    request.target = std::move(target);
    request.body = std::move(body);
    if (!request.body.empty()) request.headers.add("Content-Type", type);
    const auto response = net::fetch(*transport_, std::move(request), std::chrono::seconds(60));
    ASSERT_TRUE(response) << response.error().message;
    ASSERT_EQ(response->code, code) << response->body;
  }

 private:
  static std::filesystem::path make_folder() {
    std::string name = (std::filesystem::temp_directory_path() / "sublet-cost-XXXXXX").string();
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    return name;
  }

  const std::filesystem::path folder_ = make_folder();
  const std::string payload_ = std::string(1024, 'x');
  net::LoopThread loop_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<apiserver::Server> server_;
  std::unique_ptr<net::Transport> transport_;
};

using Figures = std::map<std::string, double>;

void measure(Figures& figures, const std::string& name, const std::function<void()>& request) {
  for (int i = 0; i < kRequests; ++i) request();  // caches are filled
  double allocations = 1e9, syncs = 1e9;
  for (int average = 0; average < 5; ++average) {
    const cost::Counts before = cost::counts();
    for (int i = 0; i < kRequests; ++i) request();
    const cost::Counts after = cost::counts();
    allocations = std::min(allocations, static_cast<double>(after.allocations - before.allocations) / kRequests);
    syncs = std::min(syncs, static_cast<double>(after.syncs - before.syncs) / kRequests);
  }
  figures[name + "_allocations"] = allocations;
  figures[name + "_syncs"] = syncs;
}

Figures measured() {
  Cluster cluster;
  Figures figures;
  int made = 0;
  measure(figures, "create", [&] { cluster.create("made", "map-" + std::to_string(made++)); });
  measure(figures, "get", [&] { cluster.expect(200, "GET", "/api/v1/namespaces/listed/configmaps/map-7"); });
  measure(figures, "list_of_100", [&] { cluster.expect(200, "GET", "/api/v1/namespaces/listed/configmaps"); });
  int turn = 0;
  cluster.apply(201, turn);
  measure(figures, "apply", [&] { cluster.apply(200, ++turn); });
  return figures;
}

Figures recorded() {
  std::ifstream file(kCostsFile);
  Figures figures;
  std::string name;
  for (double value = 0; file >> name >> value;) figures[name] = value;
  return figures;
}

TEST(Cost, OfARequestDoesNotGrow) {
  const Figures now = measured();
  ASSERT_FALSE(HasFatalFailure());
  if (std::getenv("SUBLET_RECORD_COSTS")) {
    std::ofstream file(kCostsFile);
    for (const auto& [name, value] : now) file << name << ' ' << value << '\n';
  }
  const Figures before = recorded();
  ASSERT_EQ(before.size(), now.size());
  for (const auto& [name, value] : now) {
    std::printf("%s: %.2f, recorded %.2f\n", name.c_str(), value, before.at(name));
    const double limit = name.ends_with("_syncs") ? before.at(name) + 0.05 : before.at(name) * kMargin + kSlack;
    EXPECT_LE(value, limit) << name << " grew; tests/cost/cost_test.cpp says how to record it when that is right";
  }
}

/// The counters count: else the test above could not fail.
TEST(Cost, IsCounted) {
  const cost::Counts before = cost::counts();
  const auto number = std::make_unique<int>(1);
  const int file = ::open("/tmp", O_TMPFILE | O_RDWR, 0600);
  if (file >= 0) {
    ::fdatasync(file);
    ::close(file);
  }
  const cost::Counts after = cost::counts();
  EXPECT_GT(after.allocations, before.allocations);
  EXPECT_EQ(after.syncs - before.syncs, file >= 0 ? 1u : 0u);
  EXPECT_TRUE(number);
}

}  // namespace
}  // namespace sublet
