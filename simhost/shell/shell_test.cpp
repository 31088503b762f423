// The simulated shell: what scripts print, how they end, what they leave in files.
#include "simhost/shell/shell.h"

#include <gtest/gtest.h>

#include "simhost/shell/tar.h"

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

TEST(SimulatedShell, StandardErrorIsAStreamOfItsOwn) {
  const auto streams = [](const std::string& script) {
    const Shell shell(script);
    std::string out, errors;
    for (const Line& line : shell.trace.lines) (line.is_error ? errors : out) += line.bytes();
    return out + "|" + errors;
  };
  EXPECT_EQ(streams("echo a; echo b >&2; echo c"), "a\nc\n|b\n");
  EXPECT_EQ(streams("cat /none 2>&1"), "cat: can't open '/none': No such file or directory\n|");
  EXPECT_EQ(streams("echo x > /dev/stderr; echo y > /dev/stdout"), "y\n|x\n");
  EXPECT_EQ(streams("{ echo o; echo e >&2; } 2>/dev/null"), "o\n|");
  EXPECT_EQ(streams("X=$(echo in; echo err >&2); echo $X"), "in\n|err\n");
  EXPECT_EQ(streams("echo swap >&2 | cat"), "|swap\n");
  EXPECT_EQ(streams("printf abc"), "abc|") << "without a newline";
}

/// `words` on input that has arrived so far.
Trace on_input(const Words& words, const std::string& input, bool open) {
  SeededRandom random(1);
  World world{.random = &random};
  world.input.text = input;
  world.input.open = open;
  return run(words, world, Context::session);
}
std::string text_of(const Trace& trace) {
  std::string out;
  for (const Line& line : trace.lines) out += line.bytes();
  return out + (trace.starved ? "..." : trace.end ? "=" + std::to_string(trace.end->exit_code) : "for ever");
}

TEST(SimulatedShell, ReadsItsInputAsItArrives) {
  struct Case {
    Words words;
    const char *input, *while_open, *at_end;
  };
  const Case cases[] = {
      {{"cat"}, "a\nb", "a\nb...", "a\nb=0"},
      {{"head", "-n", "1"}, "a\nb\n", "a\n=0", "a\n=0"},
      {{"wc", "-l"}, "a\nb\n", "...", "2\n=0"},
      {{"sh", "-c", "while read l; do echo got $l; done; echo end"},
       "x\ny\n",
       "got x\ngot y\n...",
       "got x\ngot y\nend\n=0"},
      {{"sh", "-c", "read a b; echo $b-$a"}, "one two three\n", "two three-one\n=0", "two three-one\n=0"},
      {{"sh", "-c", "cat | tail -n 1"}, "x\ny\n", "...", "y\n=0"},
      {{"sh"}, "if true; then\necho yes\nfi\nread x\nvalue\necho $x; exit 3\n", "yes\nvalue\n=3", "yes\nvalue\n=3"},
      {{"sh"}, "echo a\n", "a\n...", "a\n=0"},
      {{"echo", "hi"}, "", "hi\n=0", "hi\n=0"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(text_of(on_input(c.words, c.input, true)), c.while_open) << testing::PrintToString(c.words);
    EXPECT_EQ(text_of(on_input(c.words, c.input, false)), c.at_end) << testing::PrintToString(c.words);
  }
}

TEST(SimulatedShell, InputMovesTheClock) {
  SeededRandom random(1);
  World world{.random = &random};
  world.input = {.text = "a\nb\n", .arrivals = {{2, seconds(1)}, {4, seconds(7)}}, .open = true};
  const Trace trace = run({"sh", "-c", "read x; echo $x; read x; echo $x"}, world);
  ASSERT_EQ(trace.lines.size(), 2u);
  EXPECT_EQ(trace.lines[0].at, seconds(1));
  EXPECT_EQ(trace.lines[1].at, seconds(7));
}

TEST(SimulatedShell, AnUnknownProgramOfATaskHasAShortLife) {
  const Shell task("helm upgrade; echo done", {}, Context::task);
  EXPECT_EQ(task.text(), "done\n=0");
  EXPECT_EQ(task.trace.end->at, World().program_life);
  EXPECT_EQ(task.trace.unknown_program, "helm");
  EXPECT_EQ(Shell("sleep infinity", {}, Context::task).text(), "...") << "known, and endless";
  EXPECT_EQ(Shell("echo", {}, Context::task).trace.unknown_program, "");
  EXPECT_EQ(Shell("helm upgrade; echo never").text(), "...");
}

TEST(SimulatedShell, RunsScriptsInFiles) {
  EXPECT_EQ(Shell("echo 'echo in $1; exit 4' > /s; sh /s x; echo $?").text(), "in x\n4\n=0");
  EXPECT_EQ(Shell("printf '#!/bin/sh -e\\necho run; false; echo never' > /s; chmod +x /s; /s; echo end").text(),
            "run\nend\n=0");
  EXPECT_EQ(Shell("sh /none; echo $?", {}, Context::session).text(), "sh: can't open '/none'\n2\n=0");
  EXPECT_TRUE(is_known_program({"echo", "hi"}));
  EXPECT_TRUE(is_known_program({"/bin/sh"}));
  EXPECT_FALSE(is_known_program({"wait", "--for=x"})) << "a builtin is no program";
  EXPECT_FALSE(is_known_program({"nginx"}));
  EXPECT_FALSE(is_known_program({}));
}

TEST(SimulatedShell, FoldersAndPaths) {
  EXPECT_EQ(Shell("mkdir -p /a/b; [ -d /a/b ] && cd /a/b && pwd; touch ../f; ls /a; ls .").text(), "/a/b\nb\nf\n=0");
  EXPECT_EQ(Shell("[ -d /a ] || echo none").text(), "none\n=0");
}

TEST(SimulatedShell, AnInteractiveShellWaitsForTheWholeCommand) {
  SeededRandom random(1);
  World world{.random = &random};
  Conversation shell(world);
  EXPECT_EQ(text_of(shell.run_line("for i in 1 2; do")), "for ever") << "no end: the shell goes on";
  EXPECT_TRUE(shell.is_incomplete());
  EXPECT_EQ(text_of(shell.run_line("echo $i; done")), "1\n2\nfor ever");
  EXPECT_FALSE(shell.is_incomplete());
}

TEST(Tar, WritesWhatItReads) {
  const std::string long_name = "/" + std::string(150, 'n');
  const std::string script = "mkdir -p /d/sub; echo one > /d/one; printf 'a\\0b' > /d/sub/two; echo l > /d" +
                             long_name +
                             "; tar cf /d.tar /d; mkdir /new; tar -xmf /d.tar -C /new; cat /new/d/one; "
                             "ls /new/d | wc -l; cat /new/d" +
                             long_name + "; tar tf /d.tar | head -n 1";
  EXPECT_EQ(Shell(script).text(), "tar: removing leading '/' from member names\none\n3\nl\nd/\n=0");
  EXPECT_EQ(Shell("tar cf - /none", {}, Context::session).text().substr(0, 36), "tar: /none: No such file or director");
  EXPECT_EQ(Shell("echo junk > /j; tar xf /j", {}, Context::session).text(), "tar: short read\n=1");
  EXPECT_EQ(Shell("tar xzf /j", {}, Context::session).text(), "tar: compressed archives are not simulated\n=1");
}

TEST(Tar, RefusesDamagedArchives) {
  const auto entries = read_archive(write_archive({{"f", "hello"}, {"g/", ""}}, WallTime()));
  ASSERT_TRUE(entries);
  ASSERT_EQ(entries->size(), 2u);
  EXPECT_EQ(entries->at(0).path + "=" + entries->at(0).content, "f=hello");
  EXPECT_EQ(entries->at(1).path, "g/");
  std::string damaged = write_archive({{"f", "hello"}}, WallTime());
  damaged[0] = 'x';
  EXPECT_FALSE(read_archive(damaged));
  EXPECT_FALSE(read_archive(write_archive({{"f", std::string(2000, 'x')}}, WallTime()).substr(0, 1024)));
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
