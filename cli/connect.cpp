#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "cli/commands.h"
#include "cli/context_name.h"
#include "cli/exit_code.h"
#include "cli/json_output.h"
#include "cli/limited_access.h"
#include "cli/previous_context.h"
#include "cli/reference.h"
#include "cli/steps.h"
#include "sublet/base/descriptor.h"
#include "sublet/base/files.h"
#include "sublet/kube/kubeconfig.h"

namespace sublet::cli {
namespace {

using cluster::VirtualCluster;

constexpr std::string_view kExpires = "8h";

// A tenant's access under the name that connect gives it.
Result<kube::ClusterAccess> access_of(const cluster::Driver& driver, const VirtualCluster& cluster,
                                      const ConnectOptions& options) {
  std::chrono::seconds lifetime{0};
  if (!options.role.empty()) {
    const auto parsed = parse_lifetime(options.expires.empty() ? kExpires : options.expires);
    if (!parsed) return fail(parsed.error());
    lifetime = *parsed;
  }
  auto access = driver.access(cluster);
  if (access && !options.role.empty()) access = limited_access(*access, options.role, lifetime);
  if (!access) return access;
  access->context_name = access->cluster_name = access->user_name = context_name(cluster);
  access->namespace_name = "default";
  return access;
}

// A private kubeconfig for one command, removed when it ends. Its lock is inherited by the command: one that nobody
// holds was left by a connect that was killed, and goes with the next.
class CommandKubeconfig {
 public:
  explicit CommandKubeconfig(const VirtualCluster& cluster)
      : folder_(cluster.folder), path_(folder_ + "/connect-" + std::to_string(::getpid()) + ".kubeconfig") {}
  ~CommandKubeconfig() { ::unlink(path_.c_str()); }
  Outcome write(const kube::ClusterAccess& access) {
    remove_left_over();
    if (auto written = write_private_file(path_, kube::render_kubeconfig(access)); !written) return written;
    lock_.reset(::open(path_.c_str(), O_RDONLY | O_NOFOLLOW));
    if (lock_) ::flock(lock_.get(), LOCK_SH);
    return {};
  }
  const std::string& path() const { return path_; }

 private:
  void remove_left_over() const {
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(folder_, error)) {
      const std::string name = entry.path().filename().string();
      if (!name.starts_with("connect-") || !name.ends_with(".kubeconfig")) continue;
      const Descriptor file(::open(entry.path().c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
      if (file && ::flock(file.get(), LOCK_EX | LOCK_NB) == 0) ::unlink(entry.path().c_str());
    }
  }

  const std::string folder_, path_;
  Descriptor lock_;
};

volatile sig_atomic_t command_pid = 0;

void pass_signal(int signal) {
  if (command_pid > 0) ::kill(command_pid, signal);
}

// Runs the command and gives its exit code; 128+n when signal n ended it, 127 when there is no such program.
int run_command(const std::vector<std::string>& command, const std::string& kubeconfig) {
  const pid_t child = ::fork();
  if (child < 0) {
    std::fprintf(stderr, "sublet: cannot fork: %s\n", std::strerror(errno));
    return kFailure;
  }
  if (child == 0) {
    ::setenv("KUBECONFIG", kubeconfig.c_str(), 1);
    std::vector<char*> argv;
    for (const auto& word : command) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    ::execvp(argv[0], argv.data());
    std::fprintf(stderr, "sublet: cannot run %s: %s\n", argv[0], std::strerror(errno));
    ::_exit(errno == ENOENT ? 127 : 126);
  }
  command_pid = child;
  struct sigaction pass {};
  pass.sa_handler = pass_signal;
  pass.sa_flags = SA_RESTART;
  for (const int signal : {SIGTERM, SIGHUP, SIGQUIT}) ::sigaction(signal, &pass, nullptr);
  // A terminal sends ^C to the command as well: it decides what that means.
  ::signal(SIGINT, SIG_IGN);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int connect_command(const VirtualCluster& cluster, const kube::ClusterAccess& access,
                    const std::vector<std::string>& command) {
  CommandKubeconfig kubeconfig(cluster);
  if (auto written = kubeconfig.write(access); !written) return report(written.error());
  return run_command(command, kubeconfig.path());
}

// The user's file keeps the mode that it has: a key in one that others read is theirs to hear of.
void tell_readers(const std::string& path, const kube::ClusterAccess& access) {
  const auto file = kube::kubeconfig_file_of(path, access.context_name);
  struct stat status;
  if (!file || ::stat(file->c_str(), &status) != 0 || (status.st_mode & 077) == 0) return;
  std::fprintf(stderr,
               "sublet: %s now has %s in it and is open to others (mode %04o); "
               "chmod 600 makes it yours alone\n",
               file->c_str(), access.bearer_token.empty() ? "an administrator's key" : "a token",
               status.st_mode & 07777);
}

int connect_kubeconfig(const ConnectOptions& options, const kube::ClusterAccess& access) {
  const std::string path = options.kubeconfig.empty() ? kube::default_kubeconfig_path() : options.kubeconfig;
  if (options.update_current)
    if (auto noted = remember_context(path, kube::kubeconfig_current_context(path).value_or(""), access.context_name);
        !noted)
      return report(noted.error());
  if (auto merged = kube::merge_context(path, access, options.update_current); !merged) return report(merged.error());
  std::fprintf(stderr, "added context %s to %s%s\n", access.context_name.c_str(), path.c_str(),
               options.update_current ? ", and made it the current one; `sublet disconnect` goes back" : "");
  tell_readers(path, access);
  return kOk;
}

void print_connection(const ConnectOptions& options, const VirtualCluster& cluster, const kube::ClusterAccess& access) {
  auto document = json_object("Connection");
  document["name"] = cluster.name;
  document["namespace"] = cluster.host_namespace;
  document["context"] = access.context_name;
  document["kubeconfig"] = options.kubeconfig.empty() ? kube::default_kubeconfig_path() : options.kubeconfig;
  document["current"] = options.update_current;
  print_json(document);
}

}  // namespace

int connect(cluster::Driver& driver, const ConnectOptions& options) {
  const auto meant = parse_reference(options.name, options.host_namespace);
  if (!meant) return report(meant.error());
  const auto cluster = find_cluster(driver.list(), meant->name, meant->host_namespace);
  if (!cluster) return report(cluster.error());
  const auto access = access_of(driver, *cluster, options);
  if (!access) return report(access.error());
  if (!options.command.empty()) return connect_command(*cluster, *access, options.command);
  if (options.print) {
    std::fputs(kube::render_kubeconfig(*access).c_str(), stdout);
    return kOk;
  }
  const int code = connect_kubeconfig(options, *access);
  if (code == kOk && options.output == "json") print_connection(options, *cluster, *access);
  return code;
}

}  // namespace sublet::cli
