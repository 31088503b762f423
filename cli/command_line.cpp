#include "cli/command_line.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <optional>

#include "cli/boot_place.h"
#include "cli/commands.h"
#include "cli/completion.h"
#include "cli/exit_code.h"
#include "cli/steps.h"
#include "cli/systemd.h"
#include "sublet/base/nearest.h"
#include "sublet/cluster/plan.h"
#include "sublet/schema/registry.h"

namespace sublet::cli {
namespace {

const auto kSeconds = CLI::AsNumberWithUnit(std::map<std::string, int>{{"s", 1}, {"m", 60}, {"h", 3600}});
const CLI::Range kTimeouts(1, 24 * 3600);
const CLI::Range kNodeCounts(0, 10'000);
const CLI::Range kObjectCounts(0, 100'000'000);

constexpr const char* kFileType = "FILE";  // the type of a value that shells complete with file names

struct Parsed {
  CreateOptions create;
  ListOptions list;
  ConnectOptions connect;
  DisconnectOptions disconnect;
  DeleteOptions remove;
  AuditOptions audit;
  CertsOptions certs;
  BootOptions boot;
  ExplainOptions explain;
  WhyOptions why;
  VersionOptions version;
  std::string completion_shell;
  int create_timeout = 60, delete_timeout = 120, boot_timeout = 600;
};

CLI::Option* declare_output(CLI::App* command, std::string& output) {
  return command->add_option("-o,--output", output, "text or json")->check(CLI::IsMember({"text", "json"}));
}

void declare_create(CLI::App& app, Parsed& parsed) {
  auto* command = app.add_subcommand("create", "Create a virtual cluster, or start one again that was stopped");
  auto& options = parsed.create;
  command->add_option("NAME", options.name, "name of the virtual cluster")->required();
  command->add_option("-n,--namespace", options.host_namespace, "namespace on the host (default: sublet-NAME)");
  command->add_option("-f,--template,--values", options.template_file, "template file, or a plain vcluster.yaml")
      ->type_name(kFileType);
  command->add_flag("--lenient", options.lenient,
                    "leave out keys of the template that sublet does not do, and tell which, in place of refusing it");
  command->add_option("--set", options.set, "NAME=VALUE, a parameter of the template; may be repeated");
  command
      ->add_option("--host-kubeconfig", options.host_kubeconfig, "kubeconfig of the host (default: the embedded host)")
      ->type_name(kFileType);
  command->add_option("--context", options.host_context, "context in the host's kubeconfig");
  command->add_option("--timeout", parsed.create_timeout, "how long to wait, e.g. 60s")
      ->transform(kSeconds)
      ->check(kTimeouts);
  command->add_option("--quota-objects", options.quota_objects, "how many objects it may store; 0: no limit (default)")
      ->check(kObjectCounts);
  command->add_option(
      "--quota-bytes", options.quota_bytes,
      std::string("how much they may take, e.g. 500Mi; 0: no limit (default: ") + cluster::kDefaultQuotaBytes + ")");
  command->add_option("--pod-address", options.pod_address,
                      "address of this machine that the host's pods reach: by it they have their API server and DNS");
  command->add_option("--pod-listen", options.pod_listen,
                      "where to listen for them, when it is another (behind NAT or a load balancer)");
  command->add_flag("--connect", options.connect, "switch the current context to it when it is ready");
  const auto shape = [&](const char* flag, std::optional<int>& into, const char* help) {
    command->add_option(flag, into, help)->check(kNodeCounts)->excludes("--host-kubeconfig")->excludes("--context");
  };
  shape("--nodes", options.shape.nodes, "embedded host: CPU nodes, when this command makes it (1)");
  shape("--gpu-nodes", options.shape.gpu_nodes, "embedded host: GPU nodes (1)");
  shape("--gpus-per-node", options.shape.gpus_per_node, "embedded host: GPUs on each GPU node (1)");
  declare_output(command, options.output);
  command->footer(
      "Examples:\n"
      "  sublet create rag                       # on the embedded host, in its namespace sublet-rag\n"
      "  sublet create rag -n team-rag -f templates/gpu-fraction.yaml --set queue=research\n"
      "  sublet create rag -n team-rag --context prod --connect\n"
      "  sublet create rag -n team-rag           # later: starts it again as it was\n"
      "  sublet create rag -n team-rag --quota-bytes 500Mi --quota-objects 20000   # also of one that is there");
}

void declare_list(CLI::App& app, Parsed& parsed) {
  auto* command = app.add_subcommand("list", "List virtual clusters")->alias("ls");
  command->add_option("-n,--namespace", parsed.list.host_namespace, "only those in this namespace of the host");
  command->add_option("-o,--output", parsed.list.output, "table, wide, json, yaml or name")
      ->check(CLI::IsMember({"table", "wide", "json", "yaml", "name"}));
  command->add_flag("-A,--all-namespaces", parsed.list.all_namespaces, "all namespaces (the default)");
  command->footer(
      "Examples:\n"
      "  sublet list\n"
      "  sublet list -n team-rag -o wide          # with host, endpoint, template and logs\n"
      "  sublet list -o name                      # what connect and delete take\n"
      "  sublet list -o json | jq -r '.[] | select(.status != \"Running\") | .name'");
}

void declare_connect(CLI::App& app, Parsed& parsed) {
  auto* command = app.add_subcommand(
      "connect",
      "Switch kubectl to a virtual cluster, or run one command against it: sublet connect NAME -- kubectl get pods");
  auto& options = parsed.connect;
  command->add_option("NAME", options.name, "its name, also as `sublet list -o name` prints it")->required();
  command->add_option("-n,--namespace", options.host_namespace, "its namespace on the host");
  auto* print = command->add_flag("--print", options.print, "write a kubeconfig to stdout and change nothing");
  command->add_option("--update-current", options.update_current, "make its context the current one")
      ->capture_default_str();
  command->add_option("--kube-config,--kubeconfig", options.kubeconfig, "kubeconfig file to change")
      ->type_name(kFileType);
  auto* role = command->add_option(
      "--role", options.role,
      "hand out a token that may as much as this cluster role: view, edit, admin or cluster-admin (default: the "
      "administrator's certificate)");
  role->check(CLI::IsMember({"view", "edit", "admin", "cluster-admin"}));
  command->add_option("--expires", options.expires, "how long that token is good, as in 90m, 8h or 7d (default: 8h)")
      ->needs(role);
  declare_output(command, options.output)->excludes(print);
  command->footer(
      "Examples:\n"
      "  sublet connect rag                       # kubectl is in it until: sublet disconnect\n"
      "  sublet connect rag --role view --expires 8h --print > look.kubeconfig\n"
      "  sublet connect rag -- kubectl get pods   # this one command, and no kubeconfig changed\n"
      "  sublet connect rag --print > rag.kubeconfig");
}

void declare_disconnect(CLI::App& app, Parsed& parsed) {
  auto* command = app.add_subcommand("disconnect", "Go back to the context that was current before connect");
  command->add_option("--kube-config,--kubeconfig", parsed.disconnect.kubeconfig, "kubeconfig file to change")
      ->type_name(kFileType);
  declare_output(command, parsed.disconnect.output);
  command->footer(
      "Examples:\n"
      "  sublet disconnect                        # after two connects: first to the one before, then to your own\n"
      "  sublet disconnect --kubeconfig other.yaml");
}

void declare_delete(CLI::App& app, Parsed& parsed) {
  auto* command =
      app.add_subcommand("delete", "Delete virtual clusters and everything that they have on the host")->alias("rm");
  auto& options = parsed.remove;
  command->add_option("NAME", options.names, "names, also as `sublet list -o name` prints them")->required();
  command->add_option("-n,--namespace", options.host_namespace, "their namespace on the host");
  command->add_flag("-y,--yes", options.yes, "do not ask; needed where there is no terminal to ask on");
  command->add_flag("--ignore-not-found", options.ignore_not_found, "succeed when there is none");
  command->add_flag("--force", options.force, "forget it also when the host cannot be reached");
  command
      ->add_option("--host-kubeconfig", options.host_kubeconfig,
                   "kubeconfig of their host (default: the file that create was given)")
      ->type_name(kFileType);
  command->add_option("--context", options.host_context, "context in the host's kubeconfig");
  command->add_flag("--keep-host", options.keep_host, "leave the embedded host running when the last one goes");
  command->add_option("--timeout", parsed.delete_timeout, "how long to wait for each, e.g. 120s")
      ->transform(kSeconds)
      ->check(kTimeouts);
  declare_output(command, options.output);
  command->footer(
      "Examples:\n"
      "  sublet delete rag\n"
      "  sublet delete rag train -n team-rag --yes\n"
      "  sublet delete --yes $(sublet list -n team-rag -o name)\n"
      "  sublet delete rag --force                # its host is gone for good");
}

void declare_audit(CLI::App& app, Parsed& parsed) {
  auto* command = app.add_subcommand("audit", "Check the log of what a virtual cluster has written to its host");
  auto& options = parsed.audit;
  command->add_option("NAME", options.name, "its name, also as `sublet list -o name` prints it")->required();
  command->add_option("-n,--namespace", options.host_namespace, "its namespace on the host");
  command->add_option("--head", options.head, "the hash that a former check printed: its line must still be there");
  declare_output(command, options.output);
  command->footer(
      "Examples:\n"
      "  sublet audit rag                         # prints the hash of the last record, to be kept elsewhere\n"
      "  sublet audit rag --head 5f2c...          # later: nothing up to there was cut off\n"
      "  sublet audit rag -o json");
}

void declare_certs(CLI::App& app, Parsed& parsed) {
  auto* command =
      app.add_subcommand("certs", "See when certificates end, or have others made and the old ones refused");
  command->require_subcommand(1);
  auto& options = parsed.certs;
  auto* check = command->add_subcommand("check", "When the certificates of virtual clusters end");
  check->add_option("NAME", options.name, "its name, also as `sublet list -o name` prints it (default: all)");
  auto* rotate = command->add_subcommand("rotate", "Others in their place at once; kubeconfigs with the old ones end");
  rotate->add_option("NAME", options.name, "its name, also as `sublet list -o name` prints it")->required();
  for (CLI::App* each : {check, rotate}) {
    each->add_option("-n,--namespace", options.host_namespace, "its namespace on the host");
    declare_output(each, options.output);
  }
  command->footer(
      "Examples:\n"
      "  sublet certs check\n"
      "  sublet certs rotate rag                  # somebody has a kubeconfig who should not");
  check->footer(
      "Examples:\n"
      "  sublet certs check                       # exit code 1 when one has ended\n"
      "  sublet certs check rag -o json");
  rotate->footer(
      "Examples:\n"
      "  sublet certs rotate rag && sublet connect rag");
  rotate->callback([&parsed] { parsed.certs.rotate = true; });
}

void declare_boot(CLI::App& app, Parsed& parsed) {
  auto* command = app.add_subcommand("boot", "Have the virtual clusters come back when the machine starts");
  command->require_subcommand(1);
  auto* enable =
      command->add_subcommand("enable", "From now on (a systemd service: of the machine for root, else yours)");
  auto* disable = command->add_subcommand("disable", "No longer; what runs goes on running");
  auto* start = command->add_subcommand("start", "Start those that are stopped: what the service runs");
  start->add_option("--timeout", parsed.boot_timeout, "how long to try again where a host does not answer yet")
      ->transform(kSeconds)
      ->check(kTimeouts);
  const auto examples = [](CLI::App* of, const char* text) { of->footer("Examples:\n" + std::string(text)); };
  examples(command,
           "  sublet boot enable                       # yours come back, also before you log in\n"
           "  sudo sublet boot enable                  # root's\n"
           "  sublet boot start                        # without systemd: have whatever starts the machine run this");
  examples(enable, "  sublet boot enable");
  examples(disable, "  sublet boot disable");
  examples(
      start,
      "  sublet boot start\n"
      "  @reboot SUBLET_STATE_DIR=$HOME/.local/state/sublet /opt/sublet/sublet boot start   # a line for crontab -e");
  enable->callback([&parsed] { parsed.boot.action = BootAction::enable; });
  disable->callback([&parsed] { parsed.boot.action = BootAction::disable; });
  start->callback([&parsed] { parsed.boot.action = BootAction::start; });
}

void declare_explain(CLI::App& app, Parsed& parsed) {
  auto* command = app.add_subcommand("explain", "Say what an object is on the host, and why each field differs");
  auto& options = parsed.explain;
  command->add_option("NAME", options.name, "the virtual cluster, also as `sublet list -o name` prints it");
  auto* object = command->add_option("OBJECT", options.object, "KIND/NAME or KIND/NAMESPACE/NAME in it");
  command->add_option("-n,--namespace", options.host_namespace, "its namespace on the host");
  command->add_option("-f,--filename", options.file, "an object in a file, which nobody has stored")
      ->type_name(kFileType)
      ->excludes(object);
  auto* of_template = command->add_option("--template", options.template_file,
                                          "as a virtual cluster of this template would have it: nothing is asked");
  of_template->type_name(kFileType);
  command->add_option("--set", options.set, "NAME=VALUE, a parameter of that template; may be repeated")
      ->needs(of_template);
  of_template->excludes(object);
  declare_output(command, options.output);
  command->footer(
      "Examples:\n"
      "  sublet explain rag pod/web\n"
      "  sublet explain rag svc/team/web -o json\n"
      "  sublet explain rag -f pod.yaml           # before it is applied\n"
      "  sublet explain -f pod.yaml --template templates/gpu-fraction.yaml --set queue=research");
}

void declare_why(CLI::App& app, Parsed& parsed) {
  auto* command = app.add_subcommand("why", "Say why a pod does not run");
  auto& options = parsed.why;
  command->add_option("NAME", options.name, "the virtual cluster, also as `sublet list -o name` prints it")->required();
  command->add_option("OBJECT", options.object, "pod/NAME or pod/NAMESPACE/NAME in it")->required();
  command->add_option("-n,--namespace", options.host_namespace, "its namespace on the host");
  declare_output(command, options.output);
  command->footer(
      "Examples:\n"
      "  sublet why rag pod/web\n"
      "  sublet why rag pod/team/web -o json");
}

void declare_completion(CLI::App& app, Parsed& parsed) {
  auto* command = app.add_subcommand("completion", "Print the script by which a shell completes commands and names");
  command->add_option("SHELL", parsed.completion_shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->footer(
      "Examples:\n"
      "  source <(sublet completion bash)         # in ~/.bashrc; the package installs all three\n"
      "  source <(sublet completion zsh)          # in ~/.zshrc, after compinit\n"
      "  sublet completion fish | source          # in ~/.config/fish/config.fish");
}

std::string kubernetes_release() { return std::string(schema::Registry::builtin()->release()); }

void declare_version(CLI::App& app, Parsed& parsed) {
  auto* command = app.add_subcommand("version", "Print the versions");
  declare_output(command, parsed.version.output);
  command->footer(
      "Examples:\n"
      "  sublet version\n"
      "  sublet version -o json");
}

void declare_all(CLI::App& app, Parsed& parsed) {
  app.require_subcommand(1);
  app.set_version_flag(
      "--version", [] { return version_text(kubernetes_release()); }, "print the versions");
  app.footer(
      "Examples:\n  sublet create rag --namespace team-rag -f templates/gpu-fraction.yaml\n"
      "  sublet connect rag -- kubectl get pods\n  sublet delete rag");
  declare_create(app, parsed);
  declare_list(app, parsed);
  declare_connect(app, parsed);
  declare_disconnect(app, parsed);
  declare_delete(app, parsed);
  declare_audit(app, parsed);
  declare_certs(app, parsed);
  declare_boot(app, parsed);
  declare_explain(app, parsed);
  declare_why(app, parsed);
  declare_completion(app, parsed);
  declare_version(app, parsed);
}

constexpr const char* kProgramSummary =
    "sublet: virtual Kubernetes clusters, each with its own API server, on one shared host";

int completion(const std::string& shell) {
  const CommandRow table = command_table();
  const std::string script = shell == "bash"  ? bash_completion(table)
                             : shell == "zsh" ? zsh_completion(table)
                                              : fish_completion(table);
  std::fputs(script.c_str(), stdout);
  return kOk;
}

int run_subcommand(const CLI::App& app, Parsed& parsed, cluster::Driver& driver) {
  parsed.create.timeout = std::chrono::seconds(parsed.create_timeout);
  parsed.remove.timeout = std::chrono::seconds(parsed.delete_timeout);
  parsed.boot.timeout = std::chrono::seconds(parsed.boot_timeout);
  if (app.got_subcommand("create")) return create(driver, parsed.create);
  if (app.got_subcommand("list")) return list(driver, parsed.list);
  if (app.got_subcommand("connect")) return connect(driver, parsed.connect);
  if (app.got_subcommand("disconnect")) return disconnect(parsed.disconnect);
  if (app.got_subcommand("delete")) return remove(driver, parsed.remove);
  if (app.got_subcommand("audit")) return audit(driver, parsed.audit);
  if (app.got_subcommand("certs")) return certs(driver, parsed.certs);
  if (app.got_subcommand("why")) return why(driver, parsed.why);
  if (app.got_subcommand("explain")) return explain(driver, parsed.explain);
  if (app.got_subcommand("boot")) return boot(driver, *make_systemd(), default_boot_place(), parsed.boot);
  return version(parsed.version, kubernetes_release());
}

// What stands behind "--" is the command's, whatever it looks like: it never reaches the flag parser. nullopt: no "--".
std::optional<std::vector<std::string>> take_command(int& argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) != "--") continue;
    std::vector<std::string> command(argv + i + 1, argv + argc);
    argc = i;
    return command;
  }
  return std::nullopt;
}

int usage(const std::string& message) {
  std::fprintf(stderr, "sublet: %s\n", printable(message).c_str());
  return kUsage;
}

// A first word that is no command, before the parser says less helpfully that one is missing.
std::string unknown_command(const CLI::App& app, std::string_view word) {
  if (word.empty() || word.front() == '-') return "";
  std::vector<std::string_view> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->check_name(std::string(word))) return "";
    names.push_back(command->get_name());
  }
  return "there is no command " + std::string(word) + suggestion(word, names) + "; see sublet --help";
}

// "--" belongs to connect alone, and stands before a command.
std::string misplaced_command(const CLI::App& app, const Parsed& parsed) {
  if (!app.got_subcommand("connect")) return "only connect takes a command behind --";
  if (parsed.connect.command.empty()) return "a command is missing behind --";
  if (parsed.connect.print) return "--print and a command behind -- exclude each other";
  if (parsed.connect.output == "json") return "-o json and a command behind -- exclude each other";
  return "";
}

}  // namespace

int run_command_line(int argc, char** argv, const DriverMaker& make_driver) {
  CLI::App app(kProgramSummary);
  Parsed parsed;
  declare_all(app, parsed);
  const auto command = take_command(argc, argv);
  parsed.connect.command = command.value_or(std::vector<std::string>());
  if (argc > 1)
    if (const auto wrong = unknown_command(app, argv[1]); !wrong.empty()) return usage(wrong);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? kOk : kUsage;
  }
  if (command)
    if (const auto wrong = misplaced_command(app, parsed); !wrong.empty()) return usage(wrong);
  if (app.got_subcommand("completion")) return completion(parsed.completion_shell);
  return run_subcommand(app, parsed, *make_driver());
}

CommandRow command_table() {
  CLI::App app(kProgramSummary, "sublet");
  Parsed parsed;
  declare_all(app, parsed);
  CommandRow table = read_commands(app);
  for (CommandRow& command : table.commands) command.runs_program = command.name == "connect";
  return table;
}

}  // namespace sublet::cli
