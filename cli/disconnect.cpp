#include <cstdio>

#include "cli/command.h"
#include "cli/commands.h"
#include "cli/context_name.h"
#include "cli/exit_code.h"
#include "cli/json_output.h"
#include "cli/previous_context.h"
#include "cli/steps.h"
#include "sublet/kube/kubeconfig.h"

namespace sublet::cli {

int disconnect(const DisconnectOptions& options) {
  const std::string path = options.kubeconfig.empty() ? kube::default_kubeconfig_path() : options.kubeconfig;
  const auto current = kube::kubeconfig_current_context(path);
  if (!current) return report(current.error());
  if (!current->starts_with(kContextPrefix)) {
    Status status;
    status.reason = Reason::not_found;
    status.message = "the current context of " + path + " (" + (current->empty() ? "none" : *current) +
                     ") is not a virtual cluster's; nothing to disconnect";
    return report(status);
  }
  const std::string previous = take_previous_context(path);
  if (auto removed = kube::remove_context(path, *current, previous); !removed) return report(removed.error());
  std::fprintf(stderr, "removed context %s; the current context is %s\n", current->c_str(),
               previous.empty() ? "not set" : previous.c_str());
  if (options.output == "json") {
    auto document = json_object("Disconnection");
    document["kubeconfig"] = path;
    document["removed"] = *current;
    document["current"] = previous;
    print_json(document);
  }
  return kOk;
}

namespace {

class DisconnectCommand final : public Command {
 public:
  void declare(Words& words) override {
    words.file("--kube-config,--kubeconfig", options_.kubeconfig, "kubeconfig file to change");
    words.output(options_.output);
    words.examples(
        "  sublet disconnect                        # after two connects: first to the one before, then to your own\n"
        "  sublet disconnect --kubeconfig other.yaml");
  }
  int run(const Invocation&) override { return disconnect(options_); }

 private:
  DisconnectOptions options_;
};

}  // namespace

std::unique_ptr<Command> make_disconnect_command() { return std::make_unique<DisconnectCommand>(); }

}  // namespace sublet::cli
