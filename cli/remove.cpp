#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <variant>

#include "cli/command.h"
#include "cli/commands.h"
#include "cli/context_name.h"
#include "cli/exit_code.h"
#include "cli/json_output.h"
#include "cli/previous_context.h"
#include "cli/reference.h"
#include "cli/steps.h"
#include "sublet/kube/kubeconfig.h"

namespace sublet::cli {
namespace {

using cluster::DamagedRecord;
using cluster::VirtualCluster;

// One to delete; all are found before the first is deleted.
struct Target {
  std::string name, host_namespace, reference;
  std::variant<VirtualCluster, DamagedRecord> record;
};

Result<Target> find_target(const cluster::Records& records, const DeleteOptions& options, const std::string& word) {
  const auto meant = parse_reference(word, options.host_namespace);
  if (!meant) return fail(meant.error());
  const auto cluster = find_cluster(records, meant->name, meant->host_namespace);
  const auto reference = [&](const auto& record) { return reference_of(records, record.name, record.host_namespace); };
  if (cluster) return Target{cluster->name, cluster->host_namespace, reference(*cluster), *cluster};
  const auto* damaged = find_damaged(records, meant->name, meant->host_namespace);
  if (!damaged || cluster.error().is(Reason::bad_request)) return fail(cluster.error());
  if (!options.force)
    return fail(Reason::internal_error, damaged->why + "; --force gives it up and leaves its host objects");
  return Target{damaged->name, damaged->host_namespace, reference(*damaged), *damaged};
}

// Returns all of them, each once. One that does not exist is an error, so that a mistyped list deletes nothing.
Result<std::vector<Target>> find_targets(const cluster::Records& records, const DeleteOptions& options) {
  std::vector<Target> targets;
  for (const std::string& word : options.names) {
    auto target = find_target(records, options, word);
    if (!target && options.ignore_not_found && target.error().is(Reason::not_found)) continue;
    if (!target) return fail(target.error());
    const bool again = std::ranges::any_of(targets, [&](const Target& other) {
      return other.name == target->name && other.host_namespace == target->host_namespace;
    });
    if (!again) targets.push_back(std::move(*target));
  }
  return targets;
}

// The namespace may stay, so the question does not name it as deleted.
std::string question_of(const std::vector<Target>& targets) {
  std::string which;
  for (const Target& target : targets)
    which += (which.empty() ? "" : ", ") + target.name + " (host namespace " + target.host_namespace + ")";
  return targets.size() == 1
             ? "Delete virtual cluster " + which + " with everything in it, and what it has on the host?"
             : "Delete " + std::to_string(targets.size()) + " virtual clusters with everything in them: " + which + "?";
}

Outcome confirm(const std::vector<Target>& targets) {
  if (::isatty(STDIN_FILENO) != 1)
    return fail(Reason::forbidden, "delete asks before it deletes, and there is no terminal to ask on: --yes says so");
  std::fprintf(stderr, "%s [y/N] ", question_of(targets).c_str());
  std::string answer;
  std::getline(std::cin, answer);
  if (answer == "y" || answer == "Y" || answer == "yes") return {};
  return fail(Reason::forbidden, "nothing was deleted");
}

// Removes only our entries, also when one of them is current.
void forget_in_kubeconfig(const std::string& name, const std::string& host_namespace) {
  const std::string path = kube::default_kubeconfig_path();
  const auto contexts = kube::kubeconfig_contexts(path);
  if (!contexts) return;
  for (const std::string& context : *contexts) {
    if (!context.starts_with(context_prefix(name, host_namespace))) continue;
    const bool current = kube::kubeconfig_current_context(path).value_or("") == context;
    const std::string previous = current ? take_previous_context(path) : "";
    if (auto removed = kube::remove_context(path, context, previous); !removed) report(removed.error());
  }
}

class DeleteSteps final : public Steps {
 public:
  void leaving(const std::string& name, const std::string& host_namespace) override {
    forget_in_kubeconfig(name, host_namespace);
  }
};

Outcome take_away(cluster::Driver& driver, const DeleteOptions& options, const Target& target, DeleteSteps& steps) {
  if (const auto* damaged = std::get_if<DamagedRecord>(&target.record)) return driver.remove_damaged(*damaged, steps);
  return driver.remove(
      std::get<VirtualCluster>(target.record),
      {options.force, options.keep_host, options.timeout, {options.host_kubeconfig, options.host_context, {}}}, steps);
}

nlohmann::json result_json(const Target& target, const Outcome& removed) {
  auto document = json_object("VirtualCluster");
  document["name"] = target.name;
  document["namespace"] = target.host_namespace;
  document["result"] = removed ? "deleted" : "failed";
  if (!removed) document["message"] = message_of(removed.error());
  return document;
}

}  // namespace

int remove(cluster::Driver& driver, const DeleteOptions& options) {
  const auto records = driver.list();
  if (!records) return report(records.error());
  const auto targets = find_targets(*records, options);
  if (!targets) return report(targets.error());
  if (!targets->empty() && !options.yes)
    if (auto agreed = confirm(*targets); !agreed) return report(agreed.error());
  const bool json = options.output == "json";
  auto results = nlohmann::json::array();
  int code = kOk;  // the first failure's; the others are deleted all the same
  for (const Target& target : *targets) {
    DeleteSteps steps;
    const Outcome removed = take_away(driver, options, target, steps);
    results.push_back(result_json(target, removed));
    if (!removed) {
      const int failure = steps.give_up(removed.error());
      code = code == kOk ? failure : code;
      continue;
    }
    steps.done();
    if (!json) std::printf("%s deleted\n", target.reference.c_str());
    std::fflush(stdout);
  }
  if (json) print_json(results);
  return code;
}

namespace {

class DeleteCommand final : public Command {
 public:
  void declare(Words& words) override {
    words.texts("NAME", options_.names, "names, also as `sublet list -o name` prints them").required();
    words.text("-n,--namespace", options_.host_namespace, "their namespace on the host");
    words.flag("-y,--yes", options_.yes, "do not ask; needed without a terminal");
    words.flag("--ignore-not-found", options_.ignore_not_found, "succeed when there is none");
    words.flag("--force", options_.force, "delete it also when the host cannot be reached");
    words.file("--host-kubeconfig", options_.host_kubeconfig,
               "kubeconfig of their host (default: the file that create was given)");
    words.text("--context", options_.host_context, "context in the host's kubeconfig");
    words.flag("--keep-host", options_.keep_host, "leave the embedded host running when its last virtual cluster goes");
    words.timeout("--timeout", options_.timeout, "how long to wait for each, e.g. 120s");
    words.output(options_.output);
    words.examples(
        "  sublet delete rag\n"
        "  sublet delete rag train -n team-rag --yes\n"
        "  sublet delete --yes $(sublet list -n team-rag -o name)\n"
        "  sublet delete rag --force                # its host no longer exists");
  }
  int run(const Invocation& invocation) override { return remove(*invocation.make_driver(), options_); }

 private:
  DeleteOptions options_;
};

}  // namespace

std::unique_ptr<Command> make_delete_command() { return std::make_unique<DeleteCommand>(); }

}  // namespace sublet::cli
