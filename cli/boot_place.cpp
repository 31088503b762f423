#include "cli/boot_place.h"

#include <pwd.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "sublet/cluster/state_folder.h"

namespace sublet::cli {
namespace {

constexpr std::string_view kFirstLine = "# Made by `sublet boot enable`; `sublet boot disable` takes it away.\n";
constexpr std::string_view kStateFolder = "Environment=\"SUBLET_STATE_DIR=";

// Characters without a meaning in a quoted word of a unit. Others (%, $, quotes) are refused, because a path with them
// is rare and escaping is easy to get wrong.
bool is_plain(std::string_view path) {
  constexpr std::string_view kOthers = "/_.-+@:,=~ ";
  for (const char c : path)
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')) &&
        kOthers.find(c) == std::string_view::npos)
      return false;
  return path.starts_with('/');
}

std::string user_name() {
  const passwd* entry = ::getpwuid(::geteuid());
  return entry ? entry->pw_name : std::to_string(::geteuid());
}

std::string user_unit_folder() {
  const char* config = std::getenv("XDG_CONFIG_HOME");
  if (config && *config == '/') return std::string(config) + "/systemd/user";
  const char* home = std::getenv("HOME");
  return std::string(home ? home : "") + "/.config/systemd/user";
}

}  // namespace

Result<std::string> BootPlace::unit_text() const {
  for (const std::string* path : {&program, &state_folder})
    if (!is_plain(*path))
      return bad_request(*path +
                         " cannot stand in a systemd unit; use a path of letters, digits, spaces and /_.-+@:,=~");
  std::string text(kFirstLine);
  text += "[Unit]\nDescription=sublet: the virtual clusters of " + user + "\n";
  // The hosts may be anywhere. A user's manager knows no such target: `boot start` is patient by itself.
  if (system) text += "Wants=network-online.target\nAfter=network-online.target\n";
  text += "\n[Service]\nType=oneshot\nRemainAfterExit=yes\n";
  text += std::string(kStateFolder) + state_folder + "\"\n";
  // "-": one that cannot be started does not take the others with it.
  text += "ExecStart=-\"" + program + "\" boot start\n";
  text += "TimeoutStopSec=30\n\n[Install]\nWantedBy=" + std::string(system ? "multi-user" : "default") + ".target\n";
  return text;
}

std::string BootPlace::command() const {
  return "SUBLET_STATE_DIR='" + state_folder + "' '" + program + "' boot start";
}

BootPlace default_boot_place() {
  BootPlace place;
  place.system = ::geteuid() == 0;
  place.unit_path = (place.system ? "/etc/systemd/system" : user_unit_folder()) + "/" + kBootUnit;
  std::error_code error;
  place.program = std::filesystem::read_symlink("/proc/self/exe", error).string();
  place.state_folder = cluster::default_state_folder();
  place.user = user_name();
  return place;
}

Result<std::string> state_folder_of_unit(const std::string& text) {
  const auto at = text.find(kStateFolder);
  if (!text.starts_with(kFirstLine) || at == std::string::npos)
    return fail(Reason::not_found, "it is not a unit of sublet's");
  const auto begin = at + kStateFolder.size();
  return text.substr(begin, text.find('"', begin) - begin);
}

}  // namespace sublet::cli
