#include <pwd.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "sublet/cluster/local_driver.h"

namespace sublet::cluster {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string home_folder() {
  if (auto home = environment("HOME"); !home.empty()) return home;
  const passwd* entry = ::getpwuid(::getuid());
  return entry && entry->pw_dir ? entry->pw_dir : "";
}

std::string chosen_folder() {
  // Absolute, for daemons run in another folder than the command that starts them.
  if (auto explicit_folder = environment("SUBLET_STATE_DIR"); !explicit_folder.empty())
    return std::filesystem::absolute(explicit_folder).lexically_normal().string();
  // A relative one is invalid and ignored, as the XDG base directory specification wants it.
  if (auto xdg = environment("XDG_STATE_HOME"); xdg.starts_with('/')) return xdg + "/sublet";
  return home_folder() + "/.local/state/sublet";
}

}  // namespace

std::string default_state_folder() {
  // Behind symbolic links, which is where daemons and sockets find themselves.
  std::error_code error;
  const std::string chosen = chosen_folder();
  const auto real = std::filesystem::weakly_canonical(chosen, error);
  return error ? chosen : real.string();
}

}  // namespace sublet::cluster
