#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "cli/command.h"
#include "cli/command_kubeconfig.h"
#include "cli/commands.h"
#include "cli/context_name.h"
#include "cli/exit_code.h"
#include "cli/json_output.h"
#include "cli/limited_access.h"
#include "cli/previous_context.h"
#include "cli/reference.h"
#include "cli/steps.h"
#include "sublet/kube/kubeconfig.h"

namespace sublet::cli {
namespace {

using cluster::VirtualCluster;

constexpr std::string_view kDefaultLifetime = "8h";

// The name by which every certificate of an API server can be verified, whatever its address.
constexpr const char* kServerName = "kubernetes.default.svc";

std::string url_of(const std::string& address, int port) {
  const bool six = address.find(':') != std::string::npos;
  return "https://" + (six ? "[" + address + "]" : address) + ":" + std::to_string(port);
}

// A kubeconfig for another person names the address that other machines reach, if there is one.
Outcome set_server(const VirtualCluster& cluster, const ConnectOptions& options, kube::ClusterAccess& access) {
  const bool for_others = !options.role.empty() && options.print;
  if (!options.server.empty()) {
    if (!options.server.starts_with("https://") || options.server.size() == std::string_view("https://").size() ||
        options.server.find_first_of(" \t\n") != std::string::npos)
      return bad_request("--server " + options.server + " is not an https URL, such as https://rag.example.com:6443");
    access.server = options.server;
    access.tls_server_name = kServerName;
  } else if (for_others && cluster.pod_access.given()) {
    access.server = url_of(cluster.pod_access.address, cluster.listen_port());
    access.tls_server_name = kServerName;
  } else if (for_others) {
    std::fprintf(stderr,
                 "sublet: the kubeconfig names %s, which only this machine reaches; for another machine give --server "
                 "URL\n",
                 printable(access.server).c_str());
  }
  return {};
}

// The access that connect hands out, under its name in kubeconfigs.
Result<kube::ClusterAccess> access_of(const cluster::Driver& driver, const VirtualCluster& cluster,
                                      const ConnectOptions& options) {
  std::chrono::seconds lifetime{0};
  if (!options.role.empty()) {
    const auto parsed = parse_lifetime(options.expires.empty() ? kDefaultLifetime : options.expires);
    if (!parsed) return fail(parsed.error());
    lifetime = *parsed;
  }
  auto access = driver.access(cluster);
  if (access && !options.role.empty()) access = limited_access(*access, options.role, lifetime);
  if (!access) return access;
  if (auto set = set_server(cluster, options, *access); !set) return fail(set.error());
  access->context_name = access->cluster_name = access->user_name = context_name(cluster);
  access->namespace_name = "default";
  return access;
}

volatile sig_atomic_t command_pid = 0;

void pass_signal(int signal) {
  if (command_pid > 0) ::kill(command_pid, signal);
}

// Runs the command and returns its exit code; 128+n when signal n ended it, 127 when there is no such program.
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
  // A terminal sends ^C to the command as well, which decides what to do.
  ::signal(SIGINT, SIG_IGN);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int connect_command(const kube::ClusterAccess& access, const std::vector<std::string>& command) {
  CommandKubeconfig kubeconfig;
  if (auto written = kubeconfig.write(access); !written) return report(written.error());
  return run_command(command, kubeconfig.path());
}

// Warns when others may read the user's file, whose mode stays as it is.
void warn_of_readers(const std::string& path, const kube::ClusterAccess& access) {
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
  warn_of_readers(path, access);
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
  const auto cluster = find_named(driver, options.name, options.host_namespace);
  if (!cluster) return report(cluster.error());
  const auto access = access_of(driver, *cluster, options);
  if (!access) return report(access.error());
  if (!options.command.empty()) return connect_command(*access, options.command);
  if (options.print) {
    std::fputs(kube::render_kubeconfig(*access).c_str(), stdout);
    return kOk;
  }
  const int code = connect_kubeconfig(options, *access);
  if (code == kOk && options.output == "json") print_connection(options, *cluster, *access);
  return code;
}

namespace {

class ConnectCommand final : public Command {
 public:
  void declare(Words& words) override {
    words.text("NAME", options_.name, "its name, also as `sublet list -o name` prints it").required();
    words.text("-n,--namespace", options_.host_namespace, "its namespace on the host");
    const Word print = words.flag("--print", options_.print, "write a kubeconfig to stdout and change nothing");
    words.boolean("--update-current", options_.update_current, "make its context the current one");
    words.file("--kube-config,--kubeconfig", options_.kubeconfig, "kubeconfig file to change");
    const Word role = words.choice("--role", options_.role, {"view", "edit", "admin", "cluster-admin"},
                                   "issue a token with the rights of this cluster role: view, edit, admin or "
                                   "cluster-admin (default: the administrator's certificate)");
    words.text("--expires", options_.expires, "lifetime of that token, as in 90m, 8h or 7d (default: 8h)").needs(role);
    words.text("--server", options_.server,
               "URL of the API server in the kubeconfig, as its user reaches it, e.g. https://vc.example.com:6443");
    words.output(options_.output).excludes(print);
    words.examples(
        "  sublet connect rag                       # kubectl uses it until: sublet disconnect\n"
        "  sublet connect rag --role view --expires 8h --print > look.kubeconfig\n"
        "  sublet connect rag --role edit --print --server https://rag.example.com:6443 > edit.kubeconfig\n"
        "  sublet connect rag -- kubectl get pods   # this one command, and no kubeconfig changed\n"
        "  sublet connect rag --print > rag.kubeconfig");
  }
  bool runs_program() const override { return true; }
  int run(const Invocation& invocation) override {
    options_.command = invocation.program;
    if (!options_.command.empty() && options_.print)
      return usage_error("connect", "--print and a command behind -- cannot be given together");
    if (!options_.command.empty() && options_.output == "json")
      return usage_error("connect", "-o json and a command behind -- cannot be given together");
    return connect(*invocation.make_driver(), options_);
  }

 private:
  ConnectOptions options_;
};

}  // namespace

std::unique_ptr<Command> make_connect_command() { return std::make_unique<ConnectCommand>(); }

}  // namespace sublet::cli
