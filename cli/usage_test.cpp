// Wrong command lines: each answer names its cause, where there is one the nearest known word, and an example.
#include "cli/usage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <map>

#include "cli/captured_run_testing.h"
#include "cli/command_line.h"
#include "cli/exit_code.h"
#include "cli/fake_driver_testing.h"
#include "cluster/folder_testing.h"
#include "sublet/base/text.h"

namespace sublet::cli {
namespace {

using testing::HasSubstr;

struct WrongLine {
  std::string_view words;    // behind `sublet`, parted by single spaces; "''" is an empty word
  std::string_view cause;    // part of the answer's first line
  std::string_view nearest;  // the word that it suggests; "": none is near
  std::string_view example;  // the beginning of the example
};

constexpr WrongLine kWrongLines[] = {
    // commands
    {"", "a command is missing; the commands are create, list", "", "sublet create rag"},
    {"crate rag", "there is no command crate", "create", "sublet create"},
    {"lst", "there is no command lst", "list", "sublet create"},
    {"lits -o json", "there is no command lits", "list", "sublet create"},
    {"conect rag", "there is no command conect", "connect", "sublet create"},
    {"discnnect", "there is no command discnnect", "disconnect", "sublet create"},
    {"deleet rag", "there is no command deleet", "delete", "sublet create"},
    {"explian rag pod/web", "there is no command explian", "explain", "sublet create"},
    {"vresion", "there is no command vresion", "version", "sublet create"},
    {"cert check", "there is no command cert", "certs", "sublet create"},
    {"get", "there is no command get", "list", "sublet create"},
    {"ps", "there is no command ps", "list", "sublet create"},
    {"status rag", "there is no command status", "list", "sublet create"},
    {"remove rag", "there is no command remove", "delete", "sublet create"},
    {"destroy rag", "there is no command destroy", "delete", "sublet create"},
    {"start rag", "create starts one that is stopped", "create", "sublet create"},
    {"stop rag", "a virtual cluster runs until it is deleted", "", "sublet create"},
    {"restart rag", "create starts what does not run", "create", "sublet create"},
    {"pause rag", "a virtual cluster cannot be paused", "", "sublet create"},
    {"login rag", "there is no command login", "connect", "sublet create"},
    {"kubectl get pods", "sublet connect NAME -- kubectl get pods", "connect", "sublet create"},
    {"exec rag sh", "sublet connect NAME -- COMMAND", "connect", "sublet create"},
    {"kubeconfig rag", "sublet connect NAME --print", "connect", "sublet create"},
    {"logs rag", "sublet list -o wide shows where the logs are", "list", "sublet create"},
    {"describe pod/web", "there is no command describe", "explain", "sublet create"},
    {"help", "sublet --help, and sublet COMMAND --help", "", "sublet create"},
    {"upgrade rag", "create starts it with this version", "create", "sublet create"},
    {"frobnicate", "there is no command frobnicate; the commands are", "", "sublet create"},
    {"''", "there is no command \"\"", "", "sublet create"},
    {"Create rag --timeout", "there is no command Create", "create", "sublet create"},
    {"certs", "certs needs one of its commands: check, rotate", "", "sublet certs check"},
    {"certs chek", "there is no command chek", "check", "sublet certs check"},
    {"certs renew rag", "there is no command renew; the commands are check, rotate", "", "sublet certs check"},
    {"boot", "boot needs one of its commands: enable, disable, start", "", "sublet boot enable"},
    {"boot enabel", "there is no command enabel", "enable", "sublet boot enable"},
    {"boot later", "there is no command later; the commands are enable, disable, start", "", "sublet boot enable"},
    // flags
    {"--hlep", "there is no flag --hlep", "--help", "sublet create"},
    {"-v", "there is no flag -v; a command comes first", "", "sublet create"},
    {"-n team list", "-n is a flag of commands and comes behind one: sublet create ... -n", "", "sublet create"},
    {"create --nodse 3 rag", "there is no flag --nodse", "--nodes", "sublet create rag"},
    {"create rag --namespce team", "there is no flag --namespce", "--namespace", "sublet create rag"},
    {"create rag --ns team", "there is no flag --ns", "--namespace", "sublet create rag"},
    {"create rag --name x", "there is no flag --name", "--namespace", "sublet create rag"},
    {"create rag --kube-context prod", "there is no flag --kube-context", "--context", "sublet create rag"},
    {"create rag --file t.yaml", "there is no flag --file", "--template", "sublet create rag"},
    {"create rag --param a=b", "there is no flag --param", "--set", "sublet create rag"},
    {"create rag --wait 5m", "there is no flag --wait", "--timeout", "sublet create rag"},
    {"create rag -namespace team", "there is no flag -namespace", "--namespace", "sublet create rag"},
    {"create rag -x", "there is no flag -x", "", "sublet create rag"},
    {"create rag --frobnicate", "there is no flag --frobnicate", "", "sublet create rag"},
    {"create rag \xe2\x80\x94nodes 3", "begins with a long dash; type two hyphens: --nodes", "", "sublet create rag"},
    {"list --format json", "there is no flag --format", "--output", "sublet list"},
    {"list --all", "there is no flag --all", "--all-namespaces", "sublet list"},
    {"list --json", "there is no flag --json", "--output json", "sublet list"},
    {"connect rag --ttl 8h", "there is no flag --ttl", "--expires", "sublet connect rag"},
    {"connect rag --cluster-role view", "there is no flag --cluster-role", "--role", "sublet connect rag"},
    {"connect rag --pritn", "there is no flag --pritn", "--print", "sublet connect rag"},
    {"delete rag --yse", "there is no flag --yse", "--yes", "sublet delete rag"},
    {"certs -n team check", "-n is a flag of certs check or certs rotate", "", "sublet certs check"},
    {"explain rag pod/web --file p.yaml", "there is no flag --file", "--filename", "sublet explain rag"},
    // values
    {"create rag --timeout", "--timeout needs a value: how long to wait", "", "sublet create rag"},
    {"create rag -n --connect", "-n needs a value before --connect: namespace on the host", "", "sublet create rag"},
    {"create rag --template=", "--template needs a value behind \"=\"", "", "sublet create rag"},
    {"create rag -n=team", "-n takes its value without \"=\": -n team", "", "sublet create rag"},
    {"create rag --connect=now", "--connect takes no value, but there is \"now\"", "", "sublet create rag"},
    {"create rag -n a -n b", "-n is given twice", "", "sublet create rag"},
    {"create rag --timeout 5m --timeout=6m", "--timeout is given twice", "", "sublet create rag"},
    {"create rag --timeout 0", "--timeout: \"0\" is not a time from 1s to 24h", "", "sublet create rag"},
    {"create rag --timeout 2d", "--timeout: \"2d\" is not a time from 1s to 24h", "", "sublet create rag"},
    {"create rag --timeout soon", "--timeout: \"soon\" is not a time", "", "sublet create rag"},
    {"create rag --timeout -1s", "--timeout: \"-1s\" is not a time", "", "sublet create rag"},
    {"create rag --nodes many", "--nodes: \"many\" is not a whole number from 0 to 10000", "", "sublet create rag"},
    {"create rag --nodes -3", "--nodes: \"-3\" is not a whole number", "", "sublet create rag"},
    {"create rag --nodes 1.5", "--nodes: \"1.5\" is not a whole number", "", "sublet create rag"},
    {"create rag --gpu-nodes 10001", "--gpu-nodes: \"10001\" is not a whole number", "", "sublet create rag"},
    {"create rag --quota-objects 1k", "--quota-objects: \"1k\" is not a whole number", "", "sublet create rag"},
    {"create rag --quota-objects 99999999999999999999", "\"99999999999999999999\" is not a whole number", "",
     "sublet create rag"},
    {"create rag --quota-objects 5", "--quota-objects 5: must be 0 (no limit) or at least 200", "",
     "sublet create rag"},
    {"create rag --quota-bytes lots", "--quota-bytes lots is no number of bytes", "", "sublet create rag"},
    {"create rag --quota-bytes 1k", "--quota-bytes 1k: must be 0 (no limit) or at least 1Mi", "", "sublet create rag"},
    {"create rag --set queue", "--set queue is not of the form NAME=VALUE", "", "sublet create rag"},
    {"create rag --set =x", "--set =x is not of the form NAME=VALUE", "", "sublet create rag"},
    {"create rag -o yaml", "--output: \"yaml\" is not one of text, json", "", "sublet create rag"},
    {"create rag -o jsn", "--output: \"jsn\" is not one of text, json", "json", "sublet create rag"},
    {"list -o xml", "--output: \"xml\" is not one of table, wide, json, yaml, name", "", "sublet list"},
    {"list -o JSON", "--output: \"JSON\" is not one of table", "json", "sublet list"},
    {"connect rag --role reader", "--role: \"reader\" is not one of view, edit, admin, cluster-admin", "",
     "sublet connect rag"},
    {"connect rag --role veiw", "--role: \"veiw\" is not one of view", "view", "sublet connect rag"},
    {"connect rag --update-current=maybe", "--update-current: \"maybe\" is not one of true, false", "",
     "sublet connect rag"},
    {"completion tcsh", "SHELL: \"tcsh\" is not one of bash, zsh, fish", "", "source <(sublet completion bash)"},
    {"completion bsh", "SHELL: \"bsh\" is not one of bash, zsh, fish", "bash", "source <(sublet completion bash)"},
    {"boot start --timeout forever", "--timeout: \"forever\" is not a time", "", "sublet boot start"},
    // arguments
    {"create", "create needs NAME, name of the virtual cluster", "", "sublet create rag"},
    {"create -n team", "create needs NAME", "", "sublet create rag"},
    {"create rag train", "create takes NAME, and \"train\" is one too many", "", "sublet create rag"},
    {"create rag --set a=b train", "create takes NAME, and \"train\" is one too many", "", "sublet create rag"},
    {"connect", "connect needs NAME, its name", "", "sublet connect rag"},
    {"connect t01 kubectl get pods", "sublet connect t01 -- kubectl get pods", "", "sublet connect rag"},
    {"delete", "delete needs NAME, names", "", "sublet delete rag"},
    {"list rag", "list takes no arguments, but there is \"rag\"", "", "sublet list"},
    {"disconnect rag", "disconnect takes no arguments, but there is \"rag\"", "", "sublet disconnect"},
    {"version 2", "version takes no arguments, but there is \"2\"", "", "sublet version"},
    {"why rag", "why needs OBJECT, pod/NAME or pod/NAMESPACE/NAME", "", "sublet why rag pod/web"},
    {"why rag pod/a pod/b", "why takes NAME OBJECT, and \"pod/b\" is one too many", "", "sublet why rag pod/web"},
    {"audit", "audit needs NAME", "", "sublet audit rag"},
    {"certs rotate", "certs rotate needs NAME", "", "sublet certs rotate rag"},
    {"completion", "completion needs SHELL, bash, zsh or fish", "", "source <(sublet completion bash)"},
    {"explain", "explain needs an object", "", "sublet explain rag pod/web"},
    // words that do not go together
    {"create rag --nodes 3 --context prod", "--context and --nodes cannot be given together", "", "sublet create rag"},
    {"create rag --gpu-nodes 3 --host-kubeconfig f", "--host-kubeconfig and --gpu-nodes cannot be given together", "",
     "sublet create rag"},
    {"connect rag -o json --print", "cannot be given together", "", "sublet connect rag"},
    {"connect rag --expires 8h", "--expires needs --role", "", "sublet connect rag"},
    {"explain rag pod/web -f p.yaml", "cannot be given together", "", "sublet explain rag"},
    {"explain rag -f p.yaml --set a=b", "--set needs --template", "", "sublet explain rag"},
    {"connect rag --", "a command is missing behind --", "", "sublet connect rag"},
    {"list -- true", "only connect takes a command behind --", "", "sublet list"},
    {"connect rag --print -- true", "--print and a command behind -- cannot be given together", "",
     "sublet connect rag"},
    {"connect rag -o json -- true", "-o json and a command behind -- cannot be given together", "",
     "sublet connect rag"},
};

class Usage : public CommandLineTest {
 protected:
  int run(std::string_view line) {
    std::vector<std::string> words;
    if (!line.empty())
      for (const std::string_view word : split(line, ' ')) words.emplace_back(word == "''" ? "" : word);
    driver_->calls.clear();
    return run_words(std::move(words), [&] { return driver_; });
  }

  const std::shared_ptr<FakeDriver> driver_ = std::make_shared<FakeDriver>();
};

TEST_F(Usage, EveryWrongLineIsAnsweredWithCauseNearestWordAndExample) {
  EXPECT_GE(std::size(kWrongLines), 80u);
  std::map<std::string, std::string_view> lines_by_cause;
  for (const WrongLine& wrong : kWrongLines) {
    SCOPED_TRACE(std::string(wrong.words));
    EXPECT_EQ(run(wrong.words), kUsage) << err_;
    const std::string cause = err_.substr(0, err_.find('\n'));
    EXPECT_TRUE(cause.starts_with("sublet: ")) << err_;
    EXPECT_THAT(cause, HasSubstr(std::string(wrong.cause)));
    if (wrong.nearest.empty())
      EXPECT_THAT(cause, testing::Not(HasSubstr("did you mean")));
    else
      EXPECT_THAT(cause, HasSubstr("did you mean \"" + std::string(wrong.nearest) + "\"?"));
    EXPECT_THAT(err_, HasSubstr("\nfor example: " + std::string(wrong.example)));
    EXPECT_THAT(err_, HasSubstr("\nhelp: sublet "));
    EXPECT_EQ(out_, "");
    EXPECT_TRUE(driver_->calls.empty()) << "the driver was asked";
    lines_by_cause.emplace(cause, wrong.words);
  }
  EXPECT_GE(lines_by_cause.size(), 80u) << "answers that differ";
}

TEST_F(Usage, GoodLinesPass) {
  driver_->records.clusters = {cluster_of("rag", "team")};
  driver_->statuses = {{"Running", "v1.36.0"}};
  for (const std::string_view line :
       {"create new -nteam", "create new --namespace=team -o json", "create --set a=b --set=c=d new --timeout 90",
        "create new --timeout=2h", "list -A -o name", "ls", "rm -y rag", "delete -yn team rag", "connect rag --print",
        "certs check rag -n team", "version"}) {
    run(line);
    EXPECT_THAT(err_, testing::Not(HasSubstr("for example"))) << line;
  }
}

TEST_F(Usage, HelpWinsOverAMistake) {
  EXPECT_EQ(run("create --help --nodse"), kOk) << err_;
  EXPECT_THAT(out_, HasSubstr("sublet create rag"));
}

}  // namespace
}  // namespace sublet::cli
