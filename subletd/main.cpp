// subletd: the daemon. `subletd ROLE [flags]`; roles are listed in roles.cpp.
#include <malloc.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "sublet/base/log.h"
#include "subletd/command_line.h"

namespace {

/// Each arena of malloc keeps what its threads left free: with one for every thread that ever did something an idle
/// virtual cluster would hold 0.7 MiB more. Two are enough for the loops and the commit thread (docs/performance.md).
constexpr int kArenasMax = 2;
/// From here on a block is the kernel's own and goes back whole. Left to itself glibc raises this to the largest block
/// that was ever freed, and what the start needed stays in the heap: 0.7 MiB of an idle API server.
constexpr int kOwnPagesFrom = 128 * 1024;

/// Connections that the API server's limits allow must not end at the shell's default of 1,024 descriptors.
constexpr rlim_t kDescriptorsWanted = 16 * 1024;

void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= kDescriptorsWanted) return;
  limit.rlim_cur = std::min(limit.rlim_max, kDescriptorsWanted);
  ::setrlimit(RLIMIT_NOFILE, &limit);  // what is refused stays as it was; accept() says when it is not enough
}

int run(sublet::subletd::RoleProgram& program) {
  sublet::subletd::block_stop_signals();
  const auto outcome = program.run();
  if (outcome) return 0;
  std::fprintf(stderr, "subletd: %s\n", outcome.error().message.c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  ::prctl(PR_SET_NAME, "subletd");  // a child is started by a descriptor, and would be called by its number
  ::mallopt(M_ARENA_MAX, kArenasMax);
  ::mallopt(M_MMAP_THRESHOLD, kOwnPagesFrom);
  raise_descriptor_limit();
  ::umask(077);  // whatever we write, keys or logs, is its owner's alone
  CLI::App app("subletd, the daemon of sublet");
  sublet::subletd::CommandLine command_line;
  int code = 0;
  sublet::subletd::declare_roles(app, command_line, [&](sublet::subletd::RoleProgram& program) {
    sublet::log::set_level(command_line.log_level);
    code = run(program);
  });
  CLI11_PARSE(app, argc, argv);
  return code;
}
