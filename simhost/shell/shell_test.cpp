// The simulated shell: what scripts print, how they end, what they leave in files.
#include "simhost/shell/shell.h"

#include <gtest/gtest.h>

namespace sublet::simhost::shell {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct Shell {
  SeededRandom random{7};
  World world;
  Trace trace;

  explicit Shell(const std::string& script, Variables variables = {}, Context context = Context::main_process) {
    world.random = &random;
    world.hostname = "pod-1";
    world.variables = std::move(variables);
    trace = run({"sh", "-c", script}, world, context);
  }
  /// All that it printed, a line each, then "=CODE" or "..." for a run without an end.
  std::string text() const {
    std::string out;
    for (const Line& line : trace.lines) out += line.text + "\n";
    return out + (trace.end ? "=" + std::to_string(trace.end->exit_code) : "...");
  }
};

TEST(SimulatedShell, Scripts) {
  struct Case {
    const char *script, *text;
  };
  const Case cases[] = {
      {"echo a b   c", "a b c\n=0"},
      {"echo 'a  b' \"c $HOSTNAME\"", "a  b c pod-1\n=0"},
      {"echo one # two\necho three", "one\nthree\n=0"},
      {"X=5; echo $X ${X} ${Y:-none} ${X:+set} ${#X}", "5 5 none set 1\n=0"},
      {"if [ 1 -lt 2 ]; then echo yes; else echo no; fi", "yes\n=0"},
      {"if false; then echo 1; elif true; then echo 2; fi", "2\n=0"},
      {"for i in 1 2 3; do echo $i; done", "1\n2\n3\n=0"},
      {"for i in $(seq 3); do [ $i = 2 ] && continue; echo $i; done", "1\n3\n=0"},
      {"i=0; while [ $i -lt 3 ]; do i=$((i + 1)); done; echo $i", "3\n=0"},
      {"until false; do break; done; echo out", "out\n=0"},
      {"case abc in x) echo x;; a*|b) echo star;; esac", "star\n=0"},
      {"f() { echo in $1; return 3; }; f arg; echo $?", "in arg\n3\n=0"},
      {"echo a | cat | wc -l", "1\n=0"},
      {"echo text > /tmp/f; cat /tmp/f; echo more >> /tmp/f; cat < /tmp/f", "text\ntext\nmore\n=0"},
      {"cat /none 2>/dev/null || echo missing", "missing\n=0"},
      {"cat /none", "cat: can't open '/none': No such file or directory\n=1"},
      {"[[ -r /data ]] && exit 0; touch /data; [[ -r /data ]] && exit 42", "=42"},
      {"[[ \"$( cat /var/tmp/ready )\" == \"\" ]]", "cat: can't open '/var/tmp/ready': No such file or directory\n=0"},
      {"set -e; false; echo no", "=1"},
      {"set -e; if false; then :; fi; false || true; echo yes", "yes\n=0"},
      {"(exit 3); echo $?", "3\n=0"},
      {"! true; echo $?", "1\n=0"},
      {"printf '%s-%03d\\n' a 7 b 8", "a-007\nb-008\n=0"},
      {"echo $(expr 7 % 4) $((2 * (3 + 4))) `echo back`", "3 14 back\n=0"},
      {"python train.py; echo never", "..."},
      {"ollama serve & echo started; wait", "started\n..."},
      {"sleep 3 & wait; echo done", "done\n=0"},
      {"exec sleep infinity", "..."},
      {"while :; do sleep 1; done", "..."},
      {"exit 300", "=44"},
      {"sh -c 'exit 4'; echo $?", "4\n=0"},
      {"echo $1", "\n=0"},
      {"eval 'X=1'; echo $X", "1\n=0"},
      {"echo ${X/a/b}",
       "simhost: the simulated shell does not understand this script: line 1: '${X/a/b}' is not "
       "understood\n..."},
      {"cat <<",
       "simhost: the simulated shell does not understand this script: line 1: here-documents are not understood\n..."},
      {"if true; then", "simhost: the simulated shell does not understand this script: line 1: 'fi' is missing\n..."},
      {"echo 'open",
       "simhost: the simulated shell does not understand this script: line 1: a quote is not closed\n..."},
  };
  for (const Case& c : cases) EXPECT_EQ(Shell(c.script).text(), c.text) << c.script;
}

TEST(SimulatedShell, TimeIsTheScriptsOwn) {
  const Shell shell("echo a; sleep 2; echo b; sleep 0.5");
  ASSERT_EQ(shell.trace.lines.size(), 2u);
  EXPECT_EQ(shell.trace.lines[1].at, seconds(2));
  EXPECT_EQ(shell.trace.end->at, milliseconds(2500));
}

TEST(SimulatedShell, AFileIsThereFromItsMomentOn) {
  Shell shell("sleep 5; echo x > /f; sleep 5; rm /f");
  EXPECT_FALSE(shell.world.files.read("/f", shell.world.start + seconds(4)));
  EXPECT_EQ(shell.world.files.read("/f", shell.world.start + seconds(6)), "x\n");
  EXPECT_FALSE(shell.world.files.read("/f", shell.world.start + seconds(11)));
}

TEST(SimulatedShell, RunsUpstreamsJobs) {
  const std::string odd_fails = R"(
      if [ $(expr ${JOB_COMPLETION_INDEX} % 2) -ne 0 ]; then
        exit 1
      else
        exit 0
      fi
      )";
  EXPECT_EQ(Shell(odd_fails, {{"JOB_COMPLETION_INDEX", "4"}}).text(), "=0");
  EXPECT_EQ(Shell(odd_fails, {{"JOB_COMPLETION_INDEX", "5"}}).text(), "=1");
  int failed = 0;
  SeededRandom random(3);
  World world{.random = &random};
  for (int i = 0; i < 100; ++i) failed += run({"/bin/sh", "-c", "exit $(( $RANDOM / 16384 ))"}, world).end->exit_code;
  EXPECT_GT(failed, 20);
  EXPECT_LT(failed, 80);
}

TEST(SimulatedShell, HandlesItsSignals) {
  Shell shell("_term(){\n sleep 5\n exit 143\n}\ntrap _term SIGTERM\nwhile true; do\n sleep 1\ndone");
  EXPECT_FALSE(shell.trace.end);
  const auto handled = run_handler(shell.trace, "TERM", shell.world);
  ASSERT_TRUE(handled && handled->end);
  EXPECT_EQ(handled->end->exit_code, 143);
  EXPECT_EQ(handled->end->at, seconds(5));
  EXPECT_FALSE(run_handler(Shell("sleep 1").trace, "TERM", shell.world));
}

TEST(SimulatedShell, AProbeOfTheImagesOwnProgramSucceeds) {
  EXPECT_EQ(Shell("nvidia-smi", {}, Context::probe).text(), "=0");
  EXPECT_EQ(Shell("nvidia-smi && false", {}, Context::probe).text(), "=1");
}

TEST(SimulatedShell, ScriptsThatGoOnAreBounded) {
  const Shell shell("while true; do echo again; done");
  EXPECT_FALSE(shell.trace.end);
  EXPECT_LE(shell.trace.lines.size(), 2001u);
  EXPECT_EQ(Shell("f() { f; }; f").text(), "sh: nested too deeply\n=2");
  EXPECT_FALSE(Shell("X=1; while true; do X=$X$X; done").trace.end);
  EXPECT_NE(Shell("[[ a ; b ]]").text().find("']]' is missing"), std::string::npos);
  const Shell deep(std::string(500, '(') + "true" + std::string(500, ')'));
  EXPECT_NE(deep.text().find("nested too deeply"), std::string::npos);
}

}  // namespace
}  // namespace sublet::simhost::shell
