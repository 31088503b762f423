// audit: checks that the log of a virtual cluster's writes to its host is complete and unchanged.
#include <cstdio>

#include "cli/command.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/json_output.h"
#include "cli/reference.h"
#include "cli/steps.h"

namespace sublet::cli {

int audit(const cluster::Driver& driver, const AuditOptions& options) {
  const auto found = find_named(driver, options.name, options.host_namespace);
  if (!found) return report(found.error());
  const auto report_of_log = driver.check_audit(*found, options.head);
  if (!report_of_log) return report(report_of_log.error());
  const auto& [place, check] = *report_of_log;
  if (options.output == "json") {
    auto document = json_object("HostAuditCheck");
    document["name"] = found->name;
    document["namespace"] = found->host_namespace;
    document["folder"] = place;
    document["records"] = check.records;
    document["first"] = check.first;
    document["last"] = check.last;
    document["firstTime"] = check.first_time;
    document["lastTime"] = check.last_time;
    document["head"] = check.head;
    print_json(document);
    return kOk;
  }
  std::fprintf(
      stderr, "%llu writes to the host, from %s to %s, in %s; no line of it was changed, taken out or put in\n",
      static_cast<unsigned long long>(check.records), check.first_time.c_str(), check.last_time.c_str(), place.c_str());
  if (options.head.empty())
    std::fprintf(stderr,
                 "keep this hash elsewhere: `sublet audit %s -n %s --head HASH` later shows that nothing was cut off\n",
                 found->name.c_str(), found->host_namespace.c_str());
  std::printf("%s\n", check.head.c_str());
  return kOk;
}

namespace {

class AuditCommand final : public Command {
 public:
  void declare(Words& words) override {
    words.text("NAME", options_.name, "its name, also as `sublet list -o name` prints it").required();
    words.text("-n,--namespace", options_.host_namespace, "its namespace on the host");
    words.text("--head", options_.head, "the hash that an earlier check printed: its line must still be there");
    words.output(options_.output);
    words.examples(
        "  sublet audit rag                         # prints the hash of the last record; store it elsewhere\n"
        "  sublet audit rag --head 5f2c...          # later: shows that nothing up to there was cut off\n"
        "  sublet audit rag -o json");
  }
  int run(const Invocation& invocation) override { return audit(*invocation.make_driver(), options_); }

 private:
  AuditOptions options_;
};

}  // namespace

std::unique_ptr<Command> make_audit_command() { return std::make_unique<AuditCommand>(); }

}  // namespace sublet::cli
