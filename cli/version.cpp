#include <cstdio>

#include "cli/command.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/json_output.h"
#include "sublet/schema/registry.h"

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

namespace {

std::string kubernetes_release() { return std::string(schema::Registry::builtin()->release()); }

}  // namespace

std::string version_text() {
  return std::string("sublet ") + SUBLET_VERSION + " (commit " + SUBLET_COMMIT + "), serving Kubernetes " +
         kubernetes_release();
}

int version(const VersionOptions& options) {
  if (options.output == "json")
    print_json({{"version", SUBLET_VERSION}, {"commit", SUBLET_COMMIT}, {"kubernetes", kubernetes_release()}});
  else
    std::printf("%s\n", version_text().c_str());
  return kOk;
}

namespace {

class VersionCommand final : public Command {
 public:
  void declare(Words& words) override {
    words.output(options_.output);
    words.examples(
        "  sublet version\n"
        "  sublet version -o json");
  }
  int run(const Invocation&) override { return version(options_); }

 private:
  VersionOptions options_;
};

}  // namespace

std::unique_ptr<Command> make_version_command() { return std::make_unique<VersionCommand>(); }

}  // namespace sublet::cli
