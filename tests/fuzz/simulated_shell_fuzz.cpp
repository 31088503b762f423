// The shell of simulated containers: whatever a tenant's command is, its run ends, within bounds of time, lines and
// files.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "simhost/shell/shell.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sublet::simhost::shell;
  static sublet::SeededRandom random(1);
  const std::string script(reinterpret_cast<const char*>(data), std::min<std::size_t>(size, 4096));
  World world;
  world.random = &random;
  world.hostname = "fuzz";
  const Trace trace = run({"sh", "-c", script}, world);
  if (trace.lines.size() > 20'000) std::abort();
  auto last = std::chrono::milliseconds(0);
  for (const Line& line : trace.lines) last = std::max(last, line.at);
  if (trace.end && !trace.background && trace.end->exit_code < 0) std::abort();
  if (last < std::chrono::milliseconds(0)) std::abort();
  (void)run_handler(trace, "TERM", world);
  return 0;
}
