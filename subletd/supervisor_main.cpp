// subletd-supervisor: what `subletd run` becomes once it knows which processes a virtual cluster has (run_role.cpp, the
// only one that calls it). Its words are those of `subletd run`, then descriptors and roles:
//   --dir FOLDER LOGS_TO_STDOUT LOG_LEVEL LOG_ENCODING PROGRAM_FD ROLE...
#include <fcntl.h>
#include <sys/prctl.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "sublet/base/log_level.h"
#include "subletd/supervisor.h"

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv, argv + argc);
  if (words.size() < 9 || words[1] != "run") {
    std::fputs("subletd-supervisor is a part of `subletd run`; start that\n", stderr);
    return 2;
  }
  ::prctl(PR_SET_NAME, "subletd");
  ::prctl(PR_SET_DUMPABLE, 0);
  sublet::log::set_level(words[5]);
  sublet::log::set_encoding(words[6]);
  sublet::subletd::Supervision asked;
  asked.folder = words[3];
  asked.logs_to_stdout = words[4] == "logs-to-stdout";
  asked.program = std::atoi(words[7].c_str());
  asked.roles.assign(words.begin() + 8, words.end());
  ::fcntl(asked.program, F_SETFD, FD_CLOEXEC);
  const auto outcome = sublet::subletd::supervise(asked);
  if (outcome) return 0;
  std::fprintf(stderr, "subletd: %s\n", outcome.error().message.c_str());
  return 1;
}
