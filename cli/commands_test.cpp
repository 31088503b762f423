// The commands over a driver that does as the test says: what they ask of it, and what they print.
#include "cli/commands.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "cli/captured_run_testing.h"
#include "cli/exit_code.h"
#include "cli/fake_driver_testing.h"
#include "cluster/folder_testing.h"
#include "sublet/base/files.h"

namespace sublet::cli {
namespace {

using testing::HasSubstr;

// What stands in for stdin while a test runs.
class Stdin {
 public:
  explicit Stdin(int fd) : kept_(::dup(STDIN_FILENO)) {
    ::dup2(fd, STDIN_FILENO);
    ::close(fd);
  }
  ~Stdin() {
    ::dup2(kept_, STDIN_FILENO);
    ::close(kept_);
  }
  Stdin(const Stdin&) = delete;
  Stdin& operator=(const Stdin&) = delete;

 private:
  const int kept_;
};

// A terminal with somebody at it who types that.
class Terminal {
 public:
  explicit Terminal(const std::string& typed) : person_(::posix_openpt(O_RDWR | O_NOCTTY)), stdin_(open_ours()) {
    EXPECT_EQ(::write(person_, typed.data(), typed.size()), static_cast<ssize_t>(typed.size()));
  }
  ~Terminal() { ::close(person_); }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

 private:
  int open_ours() const {
    EXPECT_EQ(::grantpt(person_), 0);
    EXPECT_EQ(::unlockpt(person_), 0);
    return ::open(::ptsname(person_), O_RDWR | O_NOCTTY);
  }
  const int person_;
  const Stdin stdin_;
};

constexpr const char* kMine =
    "# mine\napiVersion: v1\nkind: Config\nusers:\n- name: mine  # the laptop's\n  user: {token: t}\nclusters:\n"
    "- cluster:\n    server: https://x\n  name: mine\ncontexts:\n- context:\n    user: mine\n    cluster: mine\n"
    "  name: mine\ncurrent-context: mine\n# the end\n";

class Commands : public testing::Test {
 protected:
  Commands() {
    ::setenv("KUBECONFIG", (home_.path + "/config").c_str(), 1);
    ::setenv("SUBLET_STATE_DIR", (home_.path + "/state").c_str(), 1);
    driver_.records.clusters = {cluster_of("rag", "team-a"), cluster_of("train", "team-b")};
    driver_.statuses = {{"Running", "v1.35.0"}, {"Stopped", "-"}};
  }
  // The exit code; what was written is in out_ and err_.
  template <class Call>
  int run(Call call) {
    return capture(call, out_, err_);
  }
  int run_list(const std::string& output, const std::string& host_namespace = {}) {
    ListOptions options;
    options.output = output;
    options.host_namespace = host_namespace;
    return run([&] { return list(driver_, options); });
  }
  int run_delete(const std::string& name, bool force = false) {
    DeleteOptions options;
    options.names = {name};
    options.yes = true;
    options.force = force;
    return run_delete(options);
  }
  int run_delete(const DeleteOptions& options) {
    return run([&] { return remove(driver_, options); });
  }
  int run_create(const std::string& name, const std::string& host_namespace = {}, const std::string& output = "text") {
    CreateOptions options;
    options.name = name;
    options.host_namespace = host_namespace;
    options.output = output;
    return run([&] { return create(driver_, options); });
  }
  int run_connect(const std::string& name) {
    ConnectOptions options;
    options.name = name;
    return run([&] { return connect(driver_, options); });
  }
  void write_mine(mode_t mode) {
    ASSERT_TRUE(write_private_file(home_.path + "/config", kMine));
    ASSERT_EQ(::chmod((home_.path + "/config").c_str(), mode), 0);
  }
  std::string current_context() { return kube::kubeconfig_current_context(home_.path + "/config").value_or("<none>"); }
  std::string kubeconfig() const { return read_file(home_.path + "/config").value_or("<none>"); }

  const testing_support::TestFolder home_;
  FakeDriver driver_;
  std::string out_, err_;
};

TEST_F(Commands, ListShowsWhatTheDriverKnows) {
  ASSERT_EQ(run_list("json"), kOk);
  const auto items = nlohmann::json::parse(out_);
  ASSERT_EQ(items.size(), 2u);
  EXPECT_EQ(items[0]["name"], "rag");
  EXPECT_EQ(items[0]["status"], "Running");
  EXPECT_EQ(items[0]["version"], "v1.35.0");
  EXPECT_EQ(items[0]["connected"], false);
  EXPECT_EQ(items[0]["context"], "sublet_rag_team-a_prod");
  EXPECT_EQ(items[1]["status"], "Stopped");
  ASSERT_EQ(run_list("name"), kOk);
  EXPECT_EQ(out_, "virtualcluster/rag\nvirtualcluster/train\n");
}

TEST_F(Commands, ListOfNamesAsksNoVirtualCluster) {
  driver_.records.damaged = {{"broken", "team-c", "/folder", "its record is broken"}};
  ASSERT_EQ(run_list("name"), kOk);
  EXPECT_EQ(out_, "virtualcluster/rag\nvirtualcluster/train\nvirtualcluster/broken\n");
  EXPECT_THAT(err_, HasSubstr("its record is broken"));
  EXPECT_EQ(driver_.status_calls, 0);
}

TEST_F(Commands, WhatListNamesIsTakenAlsoOfNamesakes) {
  driver_.records.clusters.push_back(cluster_of("rag", "team-b"));
  driver_.statuses.push_back({"Running", "v1.35.0"});
  ASSERT_EQ(run_list("name"), kOk);
  EXPECT_EQ(out_, "virtualcluster/team-a/rag\nvirtualcluster/train\nvirtualcluster/team-b/rag\n");
  ASSERT_EQ(run_list("name", "team-a"), kOk);
  EXPECT_EQ(out_, "virtualcluster/team-a/rag\n") << "it goes to a delete without -n as well";
  DeleteOptions options;
  options.yes = true;
  options.names = {"rag"};
  EXPECT_EQ(run_delete(options), kUsage);
  EXPECT_THAT(err_, HasSubstr("say which with -n"));
  options.names = {"virtualcluster/team-a/rag"};
  options.host_namespace = "team-b";
  EXPECT_EQ(run_delete(options), kUsage);
  EXPECT_THAT(err_, HasSubstr("-n says team-b"));
  for (const char* word : {"virtualcluster/", "virtualcluster//rag", "virtualcluster/a/b/c", "pod/a/rag", "/rag"}) {
    options.names = {word};
    options.host_namespace.clear();
    EXPECT_EQ(run_delete(options), kUsage) << word;
  }
  EXPECT_TRUE(driver_.calls.empty());
  options.names = {"virtualcluster/team-a/rag", "virtualcluster/train", "virtualcluster/team-b/rag"};
  EXPECT_EQ(run_delete(options), kOk);
  EXPECT_EQ(out_,
            "virtualcluster/team-a/rag deleted\nvirtualcluster/train deleted\nvirtualcluster/team-b/rag deleted\n");
  ASSERT_EQ(run_connect("virtualcluster/team-b/rag"), kOk);
  EXPECT_EQ(current_context(), "sublet_rag_team-b_prod");
}

TEST_F(Commands, ListOfOneNamespaceGivesEachItsOwnStatus) {
  driver_.statuses = {{"Starting", "-"}};
  ASSERT_EQ(run_list("json", "team-b"), kOk);
  const auto items = nlohmann::json::parse(out_);
  ASSERT_EQ(items.size(), 1u);
  EXPECT_EQ(items[0]["name"], "train");
  EXPECT_EQ(items[0]["status"], "Starting");
}

TEST_F(Commands, ListTellsADamagedOneAndWhy) {
  driver_.records.damaged = {{"broken", "team-c", "/folder", "its record is broken"}};
  ASSERT_EQ(run_list("table"), kOk);
  EXPECT_THAT(out_, HasSubstr("broken"));
  EXPECT_THAT(out_, HasSubstr("Damaged"));
  EXPECT_THAT(err_, HasSubstr("its record is broken"));
  driver_.records = {};
  ASSERT_EQ(run_list("json"), kOk);
  EXPECT_EQ(out_, "[]\n");
}

TEST_F(Commands, CreatePassesOnWhatWasAskedFor) {
  CreateOptions options;
  options.name = "new";
  options.host_context = "prod";
  EXPECT_EQ(run([&] { return create(driver_, options); }), kOk);
  EXPECT_THAT(driver_.calls, testing::ElementsAre("create new on prod"));
  EXPECT_EQ(out_, "virtualcluster/new created\n");
  EXPECT_THAT(err_, HasSubstr("ok  start everything"));
  EXPECT_THAT(err_, HasSubstr("sublet connect new -n sublet-new"));
}

TEST_F(Commands, CreatePassesOnTheQuota) {
  CreateOptions options;
  options.name = "new";
  options.quota_objects = 20'000;
  options.quota_bytes = "500Mi";
  ASSERT_EQ(run([&] { return create(driver_, options); }), kOk);
  EXPECT_EQ(driver_.plan->cluster.quota, (cluster::Quota{20'000, 500 << 20}));
  options.quota_objects = 199;
  EXPECT_EQ(run([&] { return create(driver_, options); }), kUsage);
  EXPECT_THAT(err_, HasSubstr("--quota-objects 199: must be 0 (no limit) or at least 200"));
  options.quota_objects = 0;
  options.quota_bytes = "lots";
  EXPECT_EQ(run([&] { return create(driver_, options); }), kUsage);
  EXPECT_THAT(err_, HasSubstr("--quota-bytes lots is no number of bytes"));
}

TEST_F(Commands, CreateThatCannotBeAsksNothingOfTheDriver) {
  CreateOptions options;
  options.name = "a-x-b";
  EXPECT_EQ(run([&] { return create(driver_, options); }), kUsage);
  options.name = "new";
  options.set = {"novalue"};
  EXPECT_EQ(run([&] { return create(driver_, options); }), kUsage);
  EXPECT_THAT(err_, HasSubstr("--set novalue is not of the form NAME=VALUE"));
  EXPECT_TRUE(driver_.calls.empty());
}

TEST_F(Commands, AFailureNamesTheStepAndGivesItsCode) {
  driver_.failure = fail(Reason::timeout, "not in time").value();
  CreateOptions options;
  options.name = "new";
  EXPECT_EQ(run([&] { return create(driver_, options); }), kTimeout);
  EXPECT_EQ(out_, "");
  EXPECT_THAT(err_, testing::ContainsRegex("--  start everything .*failed\nsublet: not in time"));
  EXPECT_EQ(run_delete("rag"), kTimeout);
  EXPECT_EQ(out_, "");
}

TEST_F(Commands, DeleteForgetsTheContextsOfThatOneAlone) {
  ASSERT_EQ(run_connect("train"), kOk);
  ASSERT_EQ(run_connect("rag"), kOk);
  EXPECT_THAT(kubeconfig(), HasSubstr("current-context: sublet_rag_team-a_prod"));
  driver_.failure = fail(Reason::service_unavailable, "the host is away").value();
  EXPECT_EQ(run_delete("rag"), kFailure);
  EXPECT_THAT(kubeconfig(), HasSubstr("sublet_rag_team-a_prod")) << "it is still there";
  driver_.failure.reset();
  EXPECT_EQ(run_delete("rag"), kOk);
  EXPECT_EQ(out_, "virtualcluster/rag deleted\n");
  EXPECT_THAT(kubeconfig(), testing::Not(HasSubstr("sublet_rag_team-a_prod")));
  EXPECT_THAT(kubeconfig(), HasSubstr("sublet_train_team-b_prod"));
  EXPECT_EQ(driver_.remove_options.patience, std::chrono::seconds(120));
}

TEST_F(Commands, DeleteOfADamagedOneWantsForce) {
  driver_.records.damaged = {{"broken", "team-c", "/folder", "its record is broken"}};
  EXPECT_EQ(run_delete("broken"), kFailure);
  EXPECT_THAT(err_, HasSubstr("--force gives it up"));
  EXPECT_TRUE(driver_.calls.empty());
  EXPECT_EQ(run_delete("broken", true), kOk);
  EXPECT_THAT(driver_.calls, testing::ElementsAre("remove damaged broken"));
  EXPECT_EQ(run_delete("nothing"), kNotFound);
}

TEST_F(Commands, CreateWithoutANamespaceMeansTheExistingOne) {
  EXPECT_EQ(run_create("rag"), kOk) << err_;
  EXPECT_EQ(driver_.plan->cluster.host_namespace, "team-a");
  driver_.calls.clear();
  driver_.records.clusters.push_back(cluster_of("rag", "team-c"));
  EXPECT_EQ(run_create("rag"), kUsage);
  EXPECT_TRUE(driver_.calls.empty());
  EXPECT_THAT(err_, HasSubstr("there are several virtual clusters rag, in namespaces team-a, team-c"));
  EXPECT_THAT(err_, HasSubstr("sublet create rag -n team-a"));
}

TEST_F(Commands, CreateWithItsNamespaceOrThereAlreadyIsClear) {
  EXPECT_EQ(run_create("rag", "sublet-rag"), kOk);
  driver_.records.clusters.push_back(cluster_of("rag", "sublet-rag"));
  EXPECT_EQ(run_create("rag"), kOk) << "the one of the default namespace is meant";
  EXPECT_EQ(driver_.calls.size(), 2u);
}

TEST_F(Commands, CreateInJson) {
  ASSERT_EQ(run_create("new", "team-n", "json"), kOk);
  const auto document = nlohmann::json::parse(out_);
  EXPECT_EQ(document["kind"], "VirtualCluster");
  EXPECT_EQ(document["name"], "new");
  EXPECT_EQ(document["namespace"], "team-n");
  EXPECT_EQ(document["result"], "created");
}

TEST_F(Commands, DeleteTakesSeveralAlsoAsListNamesThem) {
  DeleteOptions options;
  options.names = {"virtualcluster/rag", "train", "rag"};
  options.yes = true;
  EXPECT_EQ(run_delete(options), kOk);
  EXPECT_EQ(out_, "virtualcluster/rag deleted\nvirtualcluster/train deleted\n");
  EXPECT_THAT(driver_.calls, testing::ElementsAre("remove rag", "remove train"));
}

TEST_F(Commands, DeleteOfAListWithAMistakeDeletesNothing) {
  DeleteOptions options;
  options.yes = true;
  options.names = {"rag", "trian"};
  EXPECT_EQ(run_delete(options), kNotFound);
  EXPECT_THAT(err_, HasSubstr("did you mean train"));
  options.names = {"rag", "pod/train"};
  EXPECT_EQ(run_delete(options), kUsage);
  EXPECT_TRUE(driver_.calls.empty());
  options.names = {"rag", "nothing"};
  options.ignore_not_found = true;
  EXPECT_EQ(run_delete(options), kOk);
  EXPECT_THAT(driver_.calls, testing::ElementsAre("remove rag"));
}

TEST_F(Commands, DeleteGoesOnBehindOneThatFails) {
  driver_.failure = fail(Reason::timeout, "not in time").value();
  driver_.failing = "rag";
  DeleteOptions options;
  options.names = {"rag", "train"};
  options.yes = true;
  options.output = "json";
  EXPECT_EQ(run_delete(options), kTimeout);
  const auto results = nlohmann::json::parse(out_);
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0]["name"], "rag");
  EXPECT_EQ(results[0]["result"], "failed");
  EXPECT_EQ(results[0]["message"], "not in time");
  EXPECT_EQ(results[1]["name"], "train");
  EXPECT_EQ(results[1]["result"], "deleted");
}

TEST_F(Commands, DeleteWithoutATerminalWantsYes) {
  const Stdin none(::open("/dev/null", O_RDONLY));
  DeleteOptions options;
  options.names = {"rag"};
  EXPECT_EQ(run_delete(options), kRefused);
  EXPECT_THAT(err_, HasSubstr("--yes"));
  EXPECT_TRUE(driver_.calls.empty());
}

TEST_F(Commands, DeleteAsksOnATerminalAndPromisesNothingOfTheNamespace) {
  DeleteOptions options;
  options.names = {"rag"};
  {
    const Terminal terminal("n\n");
    EXPECT_EQ(run_delete(options), kRefused);
    EXPECT_THAT(err_, HasSubstr("Delete virtual cluster rag (host namespace team-a) with everything in it, and what it "
                                "has on the host? [y/N] "));
    EXPECT_TRUE(driver_.calls.empty());
  }
  options.names = {"rag", "train"};
  const Terminal terminal("y\n");
  EXPECT_EQ(run_delete(options), kOk);
  EXPECT_THAT(err_, HasSubstr("Delete 2 virtual clusters"));
  EXPECT_EQ(driver_.calls.size(), 2u);
}

TEST_F(Commands, WideListAndJsonSayWhereTheLogsAre) {
  ASSERT_EQ(run_list("wide"), kOk);
  EXPECT_THAT(out_, HasSubstr("/state/clusters/team-a/rag/*.log"));
  ASSERT_EQ(run_list("json"), kOk);
  const auto logs = nlohmann::json::parse(out_)[0]["logs"];
  EXPECT_EQ(logs["syncer"], "/state/clusters/team-a/rag/syncer.log");
  EXPECT_EQ(logs.size(), 3u);
}

TEST_F(Commands, DisconnectGoesBackOneStepAtATime) {
  write_mine(0600);
  ASSERT_EQ(run_connect("rag"), kOk);
  ASSERT_EQ(run_connect("train"), kOk);
  ASSERT_EQ(run_connect("train"), kOk);
  EXPECT_EQ(run([] { return disconnect({}); }), kOk);
  EXPECT_EQ(current_context(), "sublet_rag_team-a_prod");
  EXPECT_EQ(run([] { return disconnect({}); }), kOk);
  EXPECT_EQ(current_context(), "mine");
  EXPECT_EQ(run([] { return disconnect({}); }), kNotFound);
}

TEST_F(Commands, DisconnectPassesOverWhatIsGone) {
  write_mine(0600);
  ASSERT_EQ(run_connect("rag"), kOk);
  ASSERT_EQ(run_connect("train"), kOk);
  ASSERT_EQ(run_delete("rag"), kOk);
  EXPECT_EQ(current_context(), "sublet_train_team-b_prod");
  EXPECT_EQ(run([] { return disconnect({}); }), kOk);
  EXPECT_EQ(current_context(), "mine");
}

TEST_F(Commands, WhatAnEarlierVersionRememberedIsGoneBackTo) {
  write_mine(0600);
  ASSERT_EQ(run_connect("rag"), kOk);
  ASSERT_TRUE(write_private_file(home_.path + "/state/previous-contexts.json",
                                 nlohmann::json{{home_.path + "/config", "mine"}}.dump()));
  EXPECT_EQ(run([] { return disconnect({}); }), kOk);
  EXPECT_EQ(current_context(), "mine");
}

TEST_F(Commands, TheUsersKubeconfigIsAsItWasAfterwards) {
  write_mine(0640);
  ASSERT_EQ(run_connect("rag"), kOk);
  ASSERT_EQ(run_connect("train"), kOk);
  ASSERT_EQ(run([] { return disconnect({}); }), kOk);
  ASSERT_EQ(run([] { return disconnect({}); }), kOk);
  EXPECT_EQ(kubeconfig(), kMine);
  struct stat status {};
  ASSERT_EQ(::stat((home_.path + "/config").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0640u);
}

TEST_F(Commands, AKeyInAFileThatOthersReadIsTold) {
  write_mine(0644);
  ASSERT_EQ(run_connect("rag"), kOk);
  EXPECT_THAT(err_, HasSubstr("open to others (mode 0644)"));
  write_mine(0600);
  ASSERT_EQ(run_connect("rag"), kOk);
  EXPECT_THAT(err_, testing::Not(HasSubstr("open to others")));
}

TEST_F(Commands, ConnectAndDisconnectInJson) {
  write_mine(0600);
  ConnectOptions options;
  options.name = "rag";
  options.output = "json";
  ASSERT_EQ(run([&] { return connect(driver_, options); }), kOk);
  auto document = nlohmann::json::parse(out_);
  EXPECT_EQ(document["context"], "sublet_rag_team-a_prod");
  EXPECT_EQ(document["kubeconfig"], home_.path + "/config");
  EXPECT_EQ(document["current"], true);
  DisconnectOptions back;
  back.output = "json";
  ASSERT_EQ(run([&] { return disconnect(back); }), kOk);
  document = nlohmann::json::parse(out_);
  EXPECT_EQ(document["removed"], "sublet_rag_team-a_prod");
  EXPECT_EQ(document["current"], "mine");
}

TEST_F(Commands, DisconnectGoesBack) {
  write_mine(0600);
  ASSERT_EQ(run_connect("rag"), kOk);
  EXPECT_EQ(run([] { return disconnect({}); }), kOk);
  EXPECT_THAT(kubeconfig(), HasSubstr("current-context: mine"));
  EXPECT_EQ(run([] { return disconnect({}); }), kNotFound);
  EXPECT_THAT(err_, HasSubstr("is not a virtual cluster's"));
}

}  // namespace
}  // namespace sublet::cli
