#include "sublet/kube/kubeconfig.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/durable_writes_testing.h"
#include "kube/file_edit.h"
#include "kube/kubeconfig_text.h"
#include "sublet/base/files.h"

namespace sublet::kube {
namespace {

namespace fs = std::filesystem;

constexpr const char* kUserFile = R"(# my clusters
apiVersion: v1
kind: Config
clusters:
# production, careful
- name: prod
  cluster:
    server: https://prod:6443   # the real one
    insecure-skip-tls-verify: true
    x-own-key: {a: [1, 2]}
- cluster:
    server: "https://dev:6443"
  name: dev

# people
contexts:
- context: {cluster: prod, user: admin}
  name: prod
- context:
    cluster: dev
    user: admin
  name: dev
current-context: prod
preferences:
  colors: true
users:
- name: admin
  user:
    token: "123456"
my-extension: 'kept'
)";

ClusterAccess access_of(const std::string& name) {
  ClusterAccess out;
  out.context_name = out.cluster_name = out.user_name = name;
  out.server = "https://127.0.0.1:6443";
  out.namespace_name = "team";
  out.ca_pem = "CA\n";
  out.client_certificate_pem = "CERT " + name;
  out.client_key_pem = "KEY";
  return out;
}

class KubeconfigTest : public testing::Test {
 protected:
  KubeconfigTest() {
    std::string pattern = (fs::temp_directory_path() / "kubeconfig-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~KubeconfigTest() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
    ::chmod(path(name).c_str(), 0640);
    return path(name);
  }
  static std::string read(const std::string& file) { return read_file(file).value_or("<none>"); }
  static mode_t mode(const std::string& file) {
    struct stat info {};
    ::stat(file.c_str(), &info);
    return info.st_mode & 07777;
  }

  fs::path folder_;
};

TEST_F(KubeconfigTest, LoadsWithInlineDataAndFiles) {
  write("ca.pem", "THE CA");
  write("tok", "file-token\n");
  const std::string file = write("config", R"({"current-context":"c","contexts":[{"name":"c","context":{"cluster":"k",
    "user":"u","namespace":"n"}}],"clusters":[{"name":"k","cluster":{"server":"https://h","certificate-authority":"ca.pem",
    "tls-server-name":"other"}}],"users":[{"name":"u","user":{"client-certificate-data":"Q0VSVA==",
    "client-key-data":"S0VZ","token":"loses","tokenFile":"tok"}}]})");
  const auto access = load_kubeconfig(file);
  ASSERT_TRUE(access) << access.error().message;
  EXPECT_EQ(access->context_name, "c");
  EXPECT_EQ(access->namespace_name, "n");
  EXPECT_EQ(access->server, "https://h");
  EXPECT_EQ(access->ca_pem, "THE CA");
  EXPECT_EQ(access->tls_server_name, "other");
  EXPECT_EQ(access->client_certificate_pem, "CERT");
  EXPECT_EQ(access->client_key_pem, "KEY");
  EXPECT_EQ(access->bearer_token, "file-token");
}

TEST_F(KubeconfigTest, ErrorsNameFileAndWhatThereIs) {
  const std::string file = write("config", kUserFile);
  const auto message = [&](const std::string& at, const std::string& context) {
    const auto access = load_kubeconfig(at, context);
    return access ? std::string("loaded") : access.error().message;
  };
  EXPECT_EQ(message(file, "nope"), file + ": no context \"nope\"; there are: prod, dev");
  EXPECT_EQ(message(path("absent"), ""), path("absent") + ": no such file");
  EXPECT_EQ(message(write("broken", "a: [1,\nb: }"), "").substr(0, path("broken").size() + 1), path("broken") + ":");
  EXPECT_EQ(message(write("empty", ""), ""), path("empty") + ": current-context is not set; there are none");
  EXPECT_NE(message(write("list", "- a\n"), "").find("no kubeconfig"), std::string::npos);
  const std::string exec =
      write("exec", R"({"current-context":"c","contexts":[{"name":"c","context":{"cluster":"k","user":"u"}}],
    "clusters":[{"name":"k","cluster":{"server":"https://h"}}],"users":[{"name":"u","user":{"exec":{}}}]})");
  EXPECT_NE(message(exec, "").find("exec: credential plugins are not run"), std::string::npos);
  EXPECT_EQ(load_kubeconfig(file, "dev")->bearer_token, "123456");
  EXPECT_TRUE(load_kubeconfig(file)->insecure_skip_tls_verify);
}

TEST_F(KubeconfigTest, AChangedFileIsOnTheDiskWithItsName) {
  const std::string file = write("config", kUserFile);
  testing_support::DurableWrites writes;
  ASSERT_TRUE(merge_context(file, access_of("new"), true));
  EXPECT_THAT(writes.calls(),
              testing::ElementsAre("sync " + file + ".*", "rename " + file, "sync " + folder_.string()));
}

TEST_F(KubeconfigTest, MergeChangesOnlyWhatIsNamed) {
  const std::string file = write("config", kUserFile);
  ASSERT_TRUE(merge_context(file, access_of("new"), true));
  const std::string merged = read(file);
  EXPECT_EQ(load_kubeconfig(file)->context_name, "new");
  EXPECT_EQ(load_kubeconfig(file)->client_certificate_pem, "CERT new");
  EXPECT_EQ(mode(file), 0640u);
  for (const char* kept :
       {"# my clusters\n", "# production, careful\n", "   # the real one\n", "x-own-key: {a: [1, 2]}\n",
        "\n# people\ncontexts:\n", "token: \"123456\"\n", "my-extension: 'kept'\n"})
    EXPECT_NE(merged.find(kept), std::string::npos) << kept << "\n" << merged;
  // Replacing is stable, and removing gives back the very bytes of the user.
  ASSERT_TRUE(merge_context(file, access_of("new"), true));
  EXPECT_EQ(read(file), merged);
  ASSERT_TRUE(remove_context(file, "new", "prod"));
  EXPECT_EQ(read(file), kUserFile);
  ASSERT_TRUE(remove_context(file, "new", "prod")) << "again is no error";
  EXPECT_FALSE(fs::exists(file + ".lock"));
}

TEST_F(KubeconfigTest, RemoveKeepsWhatOthersUse) {
  const std::string file = write("config", kUserFile);
  ASSERT_TRUE(remove_context(file, "prod", ""));
  EXPECT_EQ(kubeconfig_contexts(file).value(), std::vector<std::string>{"dev"});
  EXPECT_EQ(kubeconfig_current_context(file).value(), "");
  EXPECT_TRUE(load_kubeconfig(file, "dev")) << "the user admin is still used";
  EXPECT_EQ(read(file).find("https://prod"), std::string::npos);
  ASSERT_TRUE(remove_context(file, "dev", ""));
  EXPECT_EQ(kubeconfig_contexts(file).value().size(), 0u);
  EXPECT_NE(read(file).find("users: []"), std::string::npos) << read(file);
  ASSERT_TRUE(merge_context(file, access_of("x"), true));
  EXPECT_TRUE(load_kubeconfig(file));
}

// Layouts that text can or cannot be cut into: in each, a merge and a removal must leave the rest as it was.
TEST_F(KubeconfigTest, EveryLayoutSurvives) {
  const std::string crlf = [] {
    std::string out;
    for (const char* c = kUserFile; *c; ++c) *c == '\n' ? out += "\r\n" : out += *c;
    return out;
  }();
  const std::pair<const char*, std::string> layouts[] = {
      {"plain", kUserFile},
      {"crlf", crlf},
      {"bom", "\xEF\xBB\xBF" + std::string(kUserFile)},
      {"no newline at the end", std::string(kUserFile).substr(0, std::string(kUserFile).size() - 1)},
      {"document markers", "---\n" + std::string(kUserFile)},
      {"document end", std::string(kUserFile) + "...\n"},
      {"json", R"({"clusters":[{"name":"prod","cluster":{"server":"https://prod:6443"}}],"contexts":[{"name":"prod",
        "context":{"cluster":"prod","user":"admin"}}],"users":[{"name":"admin","user":{"token":"123456"}}],
        "current-context":"prod"})"},
      {"anchors",
       "clusters:\n- &a\n  name: prod\n  cluster: {server: https://prod:6443}\ncontexts:\n- name: prod\n"
       "  context: {cluster: prod, user: admin}\nusers:\n- name: admin\n  user: {token: '123456'}\n"
       "current-context: prod\ncopy: *a\n"},
      {"indented lists",
       "clusters:\n    - name: prod\n      cluster:\n        server: https://prod:6443\ncontexts:\n"
       "    - name: prod\n      context:\n        cluster: prod\n        user: admin\nusers:\n"
       "    - name: admin\n      user:\n        token: '123456'\ncurrent-context: prod\n"},
      {"flow style with words and numbers",
       "{clusters: [{name: prod, cluster: {server: https://prod:6443}}], contexts: [{name: prod, context: {cluster: "
       "prod, "
       "user: admin}}], users: [{name: admin, user: {token: '123456'}}], current-context: prod, note: two words "
       "(mine), "
       "count: 7, on: true, rate: .5}"},
      {"dash on its own line",
       "clusters:\n-\n  name: prod\n  cluster: {server: https://prod:6443}\ncontexts:\n"
       "- {name: prod, context: {cluster: prod, user: admin}}\nusers:\n- name: admin\n"
       "  user: {token: '123456'}\ncurrent-context:\n  prod\n"},
  };
  for (const auto& [name, text] : layouts) {
    SCOPED_TRACE(name);
    const std::string file = write("config", text);
    const auto merged = merge_context(file, access_of("new"), true);
    ASSERT_TRUE(merged) << merged.error().message;
    ASSERT_TRUE(load_kubeconfig(file)) << read(file);
    EXPECT_EQ(load_kubeconfig(file)->context_name, "new") << read(file);
    const auto old = load_kubeconfig(file, "prod");
    ASSERT_TRUE(old) << old.error().message << read(file);
    EXPECT_EQ(old->server, "https://prod:6443");
    EXPECT_EQ(old->bearer_token, "123456");
    EXPECT_EQ(read(file).find("token: 123456"), std::string::npos) << "a string must not become a number";
    ASSERT_TRUE(remove_context(file, "new", "prod"));
    EXPECT_EQ(load_kubeconfig(file)->context_name, "prod");
    EXPECT_EQ(read(file).find("Q0VSVCBuZXc="), std::string::npos) << read(file);
  }
  EXPECT_EQ(read(write("same", crlf)), crlf);
}

// A list in brackets was reason enough to write the whole file anew, without its comments and in another order.
TEST_F(KubeconfigTest, BracketsCostNoComments) {
  const std::string file =
      write("config",
            "# my clusters\nusers: [{name: admin, user: {token: '123456'}}]\n# on the way\n"
            "current-context: prod\ncontexts: [\n  {name: prod,\n  context: {cluster: prod, user: "
            "admin}}]\n\nclusters: [{name: prod, cluster: {server: https://prod:6443}}]\n# the end\n");
  ASSERT_TRUE(merge_context(file, access_of("new"), true));
  ASSERT_TRUE(load_kubeconfig(file)) << read(file);
  EXPECT_EQ(load_kubeconfig(file)->context_name, "new");
  ASSERT_TRUE(remove_context(file, "new", "prod"));
  EXPECT_EQ(load_kubeconfig(file).value().bearer_token, "123456");
  std::vector<std::string> outer;  // comments and keys
  std::istringstream lines(read(file));
  for (std::string line; std::getline(lines, line);)
    if (!line.empty() && line[0] != ' ' && line[0] != '-') outer.push_back(line);
  EXPECT_EQ(outer, (std::vector<std::string>{"# my clusters", "users:", "# on the way", "current-context: prod",
                                             "contexts:", "clusters:", "# the end"}))
      << read(file);
}

TEST_F(KubeconfigTest, MakesAFileThatIsMissing) {
  const std::string file = path("deep/er/config");
  ASSERT_TRUE(merge_context(file, access_of("a"), true));
  EXPECT_EQ(mode(file), 0600u);
  EXPECT_EQ(mode(path("deep/er")), 0700u);
  EXPECT_EQ(load_kubeconfig(file)->server, "https://127.0.0.1:6443");
  const std::string empty = write("empty", "# nothing yet\n");
  ASSERT_TRUE(merge_context(empty, access_of("a"), false));
  EXPECT_EQ(read(empty).substr(0, 14), "# nothing yet\n");
  EXPECT_TRUE(load_kubeconfig(empty, "a"));
}

// Found by the fuzzer: writing to an alias wrote to the entry that it stands for.
TEST_F(KubeconfigTest, AliasesAreNotWrittenThrough) {
  const std::string file = write("alias", "clusters:\n- &x\n  name: a\n  cluster: {server: s}\ncurrent-context: *x\n");
  ASSERT_TRUE(merge_context(file, access_of("new"), true));
  EXPECT_NE(read(file).find("name: a\n"), std::string::npos) << read(file);
  EXPECT_EQ(kubeconfig_current_context(file).value(), "new");
}

TEST_F(KubeconfigTest, WhatCannotBeKeptIsLeftAlone) {
  for (const char* text :
       {"clusters: &x\n- name: a\n  cluster: *x\n", "clusters: {a: b}\n", "clusters: word\n", "- a\n"}) {
    SCOPED_TRACE(text);
    const std::string file = write("odd", text);
    EXPECT_FALSE(merge_context(file, access_of("a"), true));
    EXPECT_EQ(read(file), text);
  }
}

TEST_F(KubeconfigTest, FilesThatSayNothingAreBegun) {
  for (const char* text : {"", "\n", "null\n", "---\n...\n", "# note", "~", "--- # note\n"}) {
    SCOPED_TRACE(text);
    const std::string file = write("nothing", text);
    ASSERT_TRUE(merge_context(file, access_of("a"), true));
    EXPECT_TRUE(load_kubeconfig(file)) << read(file);
    EXPECT_EQ(read(file).find("# note\n") == 0, std::string(text) == "# note");
  }
}

TEST_F(KubeconfigTest, WritesThroughLinks) {
  const std::string file = write("real", kUserFile);
  fs::create_symlink(file, path("link"));
  ASSERT_TRUE(merge_context(path("link"), access_of("a"), true));
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(load_kubeconfig(file)->context_name, "a");
}

TEST_F(KubeconfigTest, ListsOfFilesFollowKubectl) {
  const std::string first = write("first", "apiVersion: v1\nkind: Config\n");
  const std::string second = write("second", kUserFile);
  const std::string list = path("absent") + ":" + first + ":" + second;
  EXPECT_EQ(load_kubeconfig(list)->context_name, "prod");
  ASSERT_TRUE(merge_context(list, access_of("dev"), true)) << "dev exists in the second file: changed there";
  EXPECT_EQ(kubeconfig_file_of(list, "dev").value(), second);
  EXPECT_EQ(kubeconfig_current_context(second).value(), "dev") << "and current-context where it was set";
  ASSERT_TRUE(merge_context(list, access_of("new"), false));
  EXPECT_EQ(load_kubeconfig(list)->client_key_pem, "KEY");
  EXPECT_EQ(kubeconfig_contexts(first).value(), std::vector<std::string>{"new"}) << "new goes to the first that exists";
  EXPECT_FALSE(fs::exists(path("absent")));
  ASSERT_TRUE(merge_context(path("x") + ":" + path("y"), access_of("new"), true));
  EXPECT_FALSE(fs::exists(path("x")));
  EXPECT_TRUE(fs::exists(path("y"))) << "none exists: the last is made";
}

TEST_F(KubeconfigTest, SetsTheCurrentContext) {
  const std::string file = write("config", kUserFile);
  ASSERT_TRUE(set_current_context(file, "dev"));
  EXPECT_EQ(kubeconfig_current_context(file).value(), "dev");
  EXPECT_FALSE(set_current_context(file, "nope"));
  ASSERT_TRUE(set_current_context(file, "prod"));
  EXPECT_EQ(read(file), kUserFile);
}

TEST_F(KubeconfigTest, RendersForKubectl) {
  ClusterAccess access = access_of("sublet_a_b_c");
  access.bearer_token = "007";
  const std::string file = write("rendered", render_kubeconfig(access));
  const auto back = load_kubeconfig(file);
  ASSERT_TRUE(back) << read(file);
  EXPECT_EQ(back->bearer_token, "007");
  EXPECT_EQ(back->client_key_pem, "KEY");
  EXPECT_NE(read(file).find("token: \"007\""), std::string::npos) << read(file);
}

// A writer that finds the file locked for longer than its patience is refused and may come again: it has lost nothing.
template <class Write>
bool once_free(Write write) {
  for (;;) {
    const Outcome outcome = write();
    if (outcome || !outcome.error().is(Reason::conflict)) return outcome.has_value();
  }
}

TEST_F(KubeconfigTest, ManyWritersLoseNothing) {
  const std::string file = write("config", kUserFile);
  std::vector<pid_t> children;
  constexpr int kProcesses = 4, kThreads = 2, kEach = 5;
  for (int process = 0; process < kProcesses; ++process) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      std::atomic<bool> good = true;
      std::vector<std::thread> threads;
      for (int thread = 0; thread < kThreads; ++thread)
        threads.emplace_back([&, thread] {
          for (int i = 0; i < kEach; ++i) {
            const std::string name = "c" + std::to_string((process * kThreads + thread) * kEach + i);
            if (!once_free([&] { return merge_context(file, access_of(name), true); })) good = false;
            if (i % 2 == 1 && !once_free([&] { return remove_context(file, name, "prod"); })) good = false;
          }
        });
      for (auto& thread : threads) thread.join();
      ::_exit(good ? 0 : 1);
    }
    children.push_back(pid);
  }
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(kubeconfig_contexts(file)->size(), 2u + kProcesses * kThreads * 3u);
  EXPECT_NE(read(file).find("# production, careful"), std::string::npos);
}

TEST_F(KubeconfigTest, LocksOfTheDeadAreTakenOverThoseOfOthersAreNot) {
  const std::string file = write("config", kUserFile);
  const pid_t pid = ::fork();
  if (pid == 0) {
    auto lock = FileLock::take(file);
    ::_exit(lock ? 0 : 1);  // without unlocking
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  ASSERT_EQ(status, 0);
  ASSERT_TRUE(fs::exists(file + ".lock"));
  EXPECT_TRUE(merge_context(file, access_of("a"), true));
  EXPECT_FALSE(fs::exists(file + ".lock"));
  write("config.lock", "");  // as kubectl's
  const auto refused = FileLock::take(file, std::chrono::milliseconds(20));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("config.lock"), std::string::npos);
  EXPECT_TRUE(fs::exists(file + ".lock"));
}

}  // namespace
}  // namespace sublet::kube
