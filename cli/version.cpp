#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/exit_code.h"

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

int version(const VersionOptions& options, const std::string& release) {
  if (options.output == "json") {
    const nlohmann::json document{{"version", SUBLET_VERSION}, {"commit", SUBLET_COMMIT}, {"kubernetes", release}};
    std::printf("%s\n", document.dump(2).c_str());
  } else {
    std::printf("sublet %s (commit %s), serving Kubernetes %s\n", SUBLET_VERSION, SUBLET_COMMIT, release.c_str());
  }
  return kOk;
}

}  // namespace sublet::cli
