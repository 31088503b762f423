#include "simhost/probe.h"

#include <array>
#include <utility>

namespace sublet::simhost {
namespace {

struct ProbeRow {
  Probe::Kind kind;
  const char* field;
  const char* title;
};
constexpr std::array<ProbeRow, 3> kProbes{{{Probe::Kind::startup, "startupProbe", "Startup"},
                                           {Probe::Kind::liveness, "livenessProbe", "Liveness"},
                                           {Probe::Kind::readiness, "readinessProbe", "Readiness"}}};

}  // namespace

const char* Probe::title() const { return kProbes[static_cast<std::size_t>(kind)].title; }

Judgement count(Probe& probe, bool success) {
  int& counted = success ? probe.successes : probe.failures;
  (success ? probe.failures : probe.successes) = 0;
  if (++counted < (success ? probe.success_threshold : probe.failure_threshold)) return Judgement::unchanged;
  return success ? Judgement::healthy : Judgement::unhealthy;
}

std::vector<Probe> read_probes(const schema::Value& container) {
  std::vector<Probe> out;
  for (const ProbeRow& row : kProbes) {
    const schema::Value spec = container[row.field];
    if (!spec) continue;
    Probe probe;
    probe.kind = row.kind;
    if (spec["exec"]["command"]) probe.command = schema::Document::copy_of(spec["exec"]["command"]);
    probe.initial_delay = std::chrono::seconds(spec["initialDelaySeconds"].integer());
    probe.period = std::chrono::seconds(std::max<std::int64_t>(spec["periodSeconds"].integer(), 1));
    if (spec["successThreshold"]) probe.success_threshold = static_cast<int>(spec["successThreshold"].integer());
    if (spec["failureThreshold"]) probe.failure_threshold = static_cast<int>(spec["failureThreshold"].integer());
    out.push_back(std::move(probe));
  }
  return out;
}

}  // namespace sublet::simhost
