#include <cstdio>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/json_output.h"

#if __has_include("commit.h")  // made by the build; a linter works without one
#include "commit.h"
#endif

#ifndef SUBLET_VERSION
#define SUBLET_VERSION "0.0.0"
#endif
#ifndef SUBLET_COMMIT
#define SUBLET_COMMIT "unknown"
#endif

namespace sublet::cli {

std::string version_text(const std::string& release) {
  return std::string("sublet ") + SUBLET_VERSION + " (commit " + SUBLET_COMMIT + "), serving Kubernetes " + release;
}

int version(const VersionOptions& options, const std::string& release) {
  if (options.output == "json")
    print_json({{"version", SUBLET_VERSION}, {"commit", SUBLET_COMMIT}, {"kubernetes", release}});
  else
    std::printf("%s\n", version_text(release).c_str());
  return kOk;
}

}  // namespace sublet::cli
