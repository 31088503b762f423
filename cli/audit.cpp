// audit: has anybody edited the log of what a virtual cluster has written to its host?
#include <cstdio>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/json_output.h"
#include "cli/steps.h"
#include "sublet/syncer/host_audit.h"

namespace sublet::cli {

int audit(const cluster::Driver& driver, const AuditOptions& options) {
  const auto found = cluster::find_cluster(driver.list(), options.name, options.host_namespace);
  if (!found) return report(found.error());
  const auto check = syncer::check_host_audit(found->audit_folder(), options.head);
  if (!check) return report(check.error());
  if (options.output == "json") {
    auto document = json_object("HostAuditCheck");
    document["name"] = found->name;
    document["namespace"] = found->host_namespace;
    document["folder"] = found->audit_folder();
    document["records"] = check->records;
    document["first"] = check->first;
    document["last"] = check->last;
    document["firstTime"] = check->first_time;
    document["lastTime"] = check->last_time;
    document["head"] = check->head;
    print_json(document);
    return kOk;
  }
  std::fprintf(stderr,
               "%llu writes to the host, from %s to %s, in %s; no line of it was changed, taken out or put in\n",
               static_cast<unsigned long long>(check->records), check->first_time.c_str(), check->last_time.c_str(),
               found->audit_folder().c_str());
  if (options.head.empty())
    std::fprintf(stderr,
                 "keep this hash elsewhere: `sublet audit %s -n %s --head HASH` later shows that nothing was cut off\n",
                 found->name.c_str(), found->host_namespace.c_str());
  std::printf("%s\n", check->head.c_str());
  return kOk;
}

}  // namespace sublet::cli
