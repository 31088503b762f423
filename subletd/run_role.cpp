// Role run: finds out which processes one virtual cluster has: its API server and its syncer, its DNS server where pods
// have a way to it, and upstream's controller manager where its template wants that. Then it becomes their supervisor.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "sublet/base/log_level.h"
#include "sublet/cluster/virtual_cluster.h"
#include "subletd/lockdown.h"
#include "subletd/role.h"
#include "subletd/supervisor.h"
#include "subletd/upstream_controllers.h"

namespace sublet::subletd {
namespace {

// The program beside this one that stays of it.
std::string supervisor_program() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? "" : (self.parent_path() / "subletd-supervisor").string();
}

/// To the virtual cluster's folder and the programs that it is about to start. They are held to the same, and give up
/// what they need less.
void confine_supervisor(const std::string& folder, const std::string& controller_manager,
                        const std::vector<std::string>& its_arguments) {
  Confinement confinement{.own = {folder}, .readable = system_files(), .listened = {}, .connected = {}};
  // Each of them reads its own there.
  confinement.readable.emplace_back("/proc");
  confinement.executable = this_program();
  confinement.executable.push_back(supervisor_program());
  if (!controller_manager.empty()) confinement.executable.push_back(controller_manager);
  // What the template tells it to read: "--flag=/a/file".
  for (const std::string& argument : its_arguments)
    if (const auto file = argument.find("=/"); file != std::string::npos)
      confinement.readable.push_back(argument.substr(file + 1));
  confine_parent(confinement);
}

/// One supervisor a folder, and the lock by which commands tell that one runs. `sublet create` hands it over as a
/// descriptor; otherwise (a container, a service manager) it is acquired here. It stays open
/// across exec: free when the last of the children has ended.
Outcome take_folder(const std::string& folder) {
  const std::string path = cluster::VirtualCluster::daemon_lock_path_in(folder);
  struct stat file {
  }, handed{};
  if (::fstat(cluster::kDaemonLock, &handed) == 0 && ::stat(path.c_str(), &file) == 0 && handed.st_dev == file.st_dev &&
      handed.st_ino == file.st_ino)
    return {};
  const int lock = ::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
  if (lock < 0) return internal_error("cannot open " + path + ": " + std::strerror(errno));
  if (::flock(lock, LOCK_EX | LOCK_NB) != 0)
    return fail(Reason::already_exists, "another `subletd run` serves " + folder + "; stop it first");
  const std::string pid = std::to_string(::getpid()) + "\n";
  if (::ftruncate(lock, 0) != 0 || ::write(lock, pid.data(), pid.size()) < 0)
    return internal_error("cannot write " + path + ": " + std::strerror(errno));
  return {};
}

/// Becomes the program beside this one, with its descriptor; returns when it is not there.
void become_supervisor(const Supervision& asked) {
  const std::string program = supervisor_program();
  if (::access(program.c_str(), X_OK) != 0) return;
  std::vector<std::string> words = {"subletd",
                                    "run",
                                    "--dir",
                                    asked.folder,
                                    asked.logs_to_stdout ? "logs-to-stdout" : "logs-to-folder",
                                    std::string(log::level_name()),
                                    std::string(log::encoding_name()),
                                    std::to_string(asked.program)};
  words.insert(words.end(), asked.roles.begin(), asked.roles.end());
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::fcntl(asked.program, F_SETFD, 0);
  ::execv(program.c_str(), argv.data());
  ::fcntl(asked.program, F_SETFD, FD_CLOEXEC);
}

class RunRole final : public RoleProgram {
 public:
  void declare(Flags& flags) override {
    flags.text("--dir", folder_, "the virtual cluster's folder, as `sublet create` made it", true);
    flags.toggle("--logs-to-stdout", logs_to_stdout_,
                 "all logs on standard output, as containers log, in place of files in the folder");
  }

  Outcome run() override {
    forget_environment();
    ::prctl(PR_SET_DUMPABLE, 0);
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    const auto cluster = cluster::VirtualCluster::load(folder_);
    if (!cluster) return fail(cluster.error());
    const auto context = cluster::translate_context(*cluster);
    if (!context) return fail(context.error());
    const patches::SyncConfig& config = syncer::config_of(*context);
    log::set_encoding(config.log_encoding);
    // `sublet create` learns at once that the program is missing.
    std::string controller_manager;
    if (config.controllers == "upstream") {
      auto program = find_controller_manager();
      if (!program) return fail(program.error());
      controller_manager = std::move(*program);
    }
    if (auto taken = take_folder(folder_); !taken) return taken;
    Supervision asked{folder_, {"apiserver", "syncer"}, logs_to_stdout_, ::open("/proc/self/exe", O_PATH | O_CLOEXEC)};
    if (asked.program < 0) return internal_error(std::string("cannot open /proc/self/exe: ") + std::strerror(errno));
    if (cluster->pod_access.given() && config.cluster_dns) asked.roles.emplace_back("dns");
    if (config.controllers == "upstream") asked.roles.emplace_back("controllers");
    confine_supervisor(folder_, controller_manager, config.controller_arguments);
    become_supervisor(asked);
    return supervise(asked);  // the program is not there: the same from within, at five times the memory
  }

 private:
  std::string folder_;
  bool logs_to_stdout_ = false;
};

}  // namespace

std::unique_ptr<RoleProgram> make_run_role() { return std::make_unique<RunRole>(); }

}  // namespace sublet::subletd
