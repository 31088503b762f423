// All commands of `sublet`. A new one: its file, and here its declaration and its line.
#include "cli/command.h"

namespace sublet::cli {

std::unique_ptr<Command> make_audit_command();
std::unique_ptr<Command> make_boot_command();
std::unique_ptr<Command> make_certs_command();
std::unique_ptr<Command> make_completion_command();
std::unique_ptr<Command> make_connect_command();
std::unique_ptr<Command> make_create_command();
std::unique_ptr<Command> make_delete_command();
std::unique_ptr<Command> make_disconnect_command();
std::unique_ptr<Command> make_explain_command();
std::unique_ptr<Command> make_list_command();
std::unique_ptr<Command> make_version_command();
std::unique_ptr<Command> make_why_command();

const std::vector<CommandEntry>& command_list() {
  static const std::vector<CommandEntry> all{
      {"create", nullptr, "Create a virtual cluster, or start one again that was stopped", make_create_command},
      {"list", "ls", "List virtual clusters", make_list_command},
      {"connect", nullptr,
       "Switch kubectl to a virtual cluster, or run one command against it: sublet connect NAME -- kubectl get pods",
       make_connect_command},
      {"disconnect", nullptr, "Go back to the context that was current before connect", make_disconnect_command},
      {"delete", "rm", "Delete virtual clusters and everything that they have on the host", make_delete_command},
      {"audit", nullptr, "Check the log of what a virtual cluster has written to its host", make_audit_command},
      {"certs", nullptr, "Show when certificates expire, or replace them and refuse the old ones", make_certs_command},
      {"boot", nullptr, "Start the virtual clusters when the machine starts", make_boot_command},
      {"explain", nullptr, "Show what an object is on the host, and why each field differs", make_explain_command},
      {"why", nullptr, "Show why a pod does not run", make_why_command},
      {"completion", nullptr, "Print the script by which a shell completes commands and names",
       make_completion_command},
      {"version", nullptr, "Print the versions", make_version_command},
  };
  return all;
}

}  // namespace sublet::cli
