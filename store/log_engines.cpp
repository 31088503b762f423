#include "sublet/store/log_engines.h"

#include <array>
#include <string_view>

#include "sublet/store/memory_log.h"
#include "sublet/store/sqlite_log.h"

namespace sublet::store {
namespace {

struct LogEngine {
  std::string_view name;
  Result<std::unique_ptr<Log>> (*open)(const std::string& folder);
};

// Sorted by name.
constexpr std::array<LogEngine, 2> kLogEngines{{
    {"memory", [](const std::string&) -> Result<std::unique_ptr<Log>> { return make_memory_log(); }},
    {"sqlite", [](const std::string& folder) { return open_sqlite_log({.path = folder + "/state.db"}); }},
}};

std::string known_engines() {
  std::string out;
  for (const std::string& name : log_engines()) out += (out.empty() ? "" : ", ") + name;
  return out;
}

}  // namespace

Result<std::unique_ptr<Log>> open_log(const LogOptions& options) {
  for (const LogEngine& engine : kLogEngines)
    if (engine.name == options.engine) return engine.open(options.folder);
  return fail(Reason::bad_request,
              "log engine \"" + options.engine + "\" does not exist: use one of " + known_engines());
}

std::vector<std::string> log_engines() {
  std::vector<std::string> names;
  for (const LogEngine& engine : kLogEngines) names.emplace_back(engine.name);
  return names;
}

}  // namespace sublet::store
