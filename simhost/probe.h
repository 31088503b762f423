// Probe: one startup, liveness or readiness probe of a running container, and the rules of its thresholds. Plain data
// and pure functions; the kubelet runs it.
//
// An exec probe runs its command in the simulated shell; a probe of a port or a URL always succeeds.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "sublet/net/loop.h"
#include "sublet/schema/document.h"

namespace sublet::simhost {

struct Probe {
  enum class Kind { startup, liveness, readiness } kind = Kind::readiness;
  schema::Document command{};  // of an exec probe; null: the probe succeeds
  std::chrono::seconds initial_delay{0}, period{10};
  int success_threshold = 1, failure_threshold = 3;

  int successes = 0, failures = 0;  // in a row
  net::Loop::TimerId timer = 0;

  bool is_exec() const { return !command.root().empty(); }
  const char* title() const;  // "Readiness"
};

/// What one more result means.
enum class Judgement { unchanged, healthy, unhealthy };
Judgement count(Probe& probe, bool success);

/// The probes of a Container, with upstream's defaults.
std::vector<Probe> read_probes(const schema::Value& container);

}  // namespace sublet::simhost
