// Role controllers: becomes upstream's kube-controller-manager for one virtual cluster whose template says
// `controllers: upstream`. It runs unchanged, each of its controllers with its own service account; those that the API
// server keeps itself beside it (controllers/controllers.cpp, Stays) are switched off.
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "sublet/base/log.h"
#include "sublet/base/log_level.h"
#include "sublet/cluster/local_layout.h"
#include "sublet/syncer/translate.h"
#include "subletd/role.h"
#include "subletd/upstream_controllers.h"

namespace sublet::subletd {
namespace {

constexpr std::string_view kProgram = "kube-controller-manager";

// The host's business: its nodes, their addresses and their volumes. The other two: controllers.cpp says why.
constexpr std::string_view kControllers =
    "--controllers=*,-node-ipam-controller,-node-lifecycle-controller,-ttl-controller,"
    "-persistentvolume-attach-detach-controller,-pod-garbage-collector-controller,-serviceaccount-token-controller";

}  // namespace

std::vector<std::string> controller_manager_command(const cluster::LocalLayout& layout,
                                                    const patches::SyncConfig& config, const std::string& program) {
  const auto kubeconfig = layout.controllers_kubeconfig_path();
  const auto folder = layout.api_folder();
  std::string controllers(kControllers);
  if (config.claims_to_host)
    controllers += ",-persistentvolume-binder-controller,-persistentvolume-expander-controller";
  std::vector<std::string> words = {program, std::move(controllers)};
  for (auto flag : {"--kubeconfig=", "--authentication-kubeconfig=", "--authorization-kubeconfig="})
    words.push_back(flag + kubeconfig);
  words.push_back("--root-ca-file=" + folder + "/ca.crt");
  words.push_back("--cluster-signing-cert-file=" + folder + "/ca.crt");
  words.push_back("--cluster-signing-key-file=" + folder + "/ca.key");
  words.push_back("--cluster-signing-duration=720h");  // as our own signer has it
  words.insert(words.end(), {"--use-service-account-credentials=true", "--leader-elect=true", "--secure-port=0"});
  words.insert(words.end(), config.controller_arguments.begin(), config.controller_arguments.end());
  return words;
}

namespace {

class ControllersRole final : public RoleProgram {
 public:
  void declare(Flags& flags) override {
    flags.text("--virtual-cluster", folder_, "the virtual cluster's folder, as `sublet create` made it", true);
  }

  Outcome run() override {
    const cluster::LocalLayout layout(folder_);
    auto cluster = layout.load();
    if (!cluster) return fail(cluster.error());
    auto program = find_controller_manager();
    if (!program) return fail(program.error());
    std::error_code error;
    if (!std::filesystem::exists(layout.controllers_kubeconfig_path(), error))
      return fail(Reason::service_unavailable, "the API server has not written " +
                                                   layout.controllers_kubeconfig_path() +
                                                   " yet; `subletd run` starts this again");
    const auto context = cluster::translate_context(*cluster);
    if (!context) return fail(context.error());
    log::set_encoding(syncer::config_of(*context).log_encoding);
    auto words = controller_manager_command(layout, syncer::config_of(*context), *program);
    std::vector<char*> argv;
    for (auto& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    log::info("controllers.starting", {{"program", *program}});
    // What was blocked for wait_for_stop_signal() must reach the program.
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::execv(program->c_str(), argv.data());
    const int why = errno;
    // What the supervisor lets it run is the file that it has found at its own start.
    const char* const next = why == EACCES ? "; if it was replaced since `subletd run` began, begin that anew" : "";
    return internal_error("cannot run " + *program + ": " + std::strerror(why) + next);
  }

 private:
  std::string folder_;
};

}  // namespace

Result<std::string> find_controller_manager() {
  const char* path = std::getenv("PATH");
  std::string_view rest = path ? path : "";
  while (!rest.empty()) {
    const auto colon = rest.find(':');
    const auto folder = std::string(rest.substr(0, colon));
    rest = colon == std::string_view::npos ? std::string_view() : rest.substr(colon + 1);
    auto candidate = (folder.empty() ? "." : folder) + "/" + std::string(kProgram);
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return fail(Reason::not_found, "controllers: upstream needs the program " + std::string(kProgram) +
                                     ", and no folder of PATH has it; install it (of Kubernetes 1.35 or 1.36), or "
                                     "write controllers: builtin");
}

std::unique_ptr<RoleProgram> make_controllers_role() { return std::make_unique<ControllersRole>(); }

}  // namespace sublet::subletd
