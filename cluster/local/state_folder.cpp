#include "sublet/cluster/state_folder.h"

#include <pwd.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

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

}  // namespace

std::string chosen_state_folder() {
  // Absolute, because daemons run in another folder than the command that starts them.
  if (auto explicit_folder = environment("SUBLET_STATE_DIR"); !explicit_folder.empty())
    return std::filesystem::absolute(explicit_folder).lexically_normal().string();
  // A relative one is invalid and ignored, as the XDG base directory specification wants it.
  if (auto xdg = environment("XDG_STATE_HOME"); xdg.starts_with('/')) return xdg + "/sublet";
  return home_folder() + "/.local/state/sublet";
}

std::string resolved_folder(const std::string& folder) {
  std::error_code error;
  const auto real = std::filesystem::weakly_canonical(folder, error);
  return error ? folder : real.string();
}

std::string default_state_folder() { return resolved_folder(chosen_state_folder()); }

}  // namespace sublet::cluster
