// Script: what the tenant's user wants in a run, in order, and in the end. The same for every run of a group, whatever
// its faults and order: so that all of them must come to the same end.
#pragma once

#include <string>
#include <vector>

#include "tests/simulation/dice.h"

namespace sublet::simulation {

/// One of the tenant's objects: what of it never changes, whenever it is made.
struct Actor {
  std::string kind;  // "pods", "configmaps", "secrets", "services", "persistentvolumeclaims"
  std::string namespace_name, name;
  std::string config_map, secret;  // a pod's
  bool token = false;
  bool ends = false;  // a pod that comes to its end by itself
  std::string claim{};
};

struct Act {
  enum class What { put, remove, remove_now, make_anew } what;
  std::size_t actor;  // of Script::actors
  int version;
};

/// One script in three has claims too, with volumes that the host binds, and a host that says events of its pods. (The
/// others stayed as they were, and with them the seeds that are known for what they found.)
constexpr bool has_claims_and_events(std::uint64_t number) { return number % 3 == 2; }

struct Script {
  std::vector<Actor> actors;
  std::vector<Act> acts;
  std::vector<int> in_the_end;  // version of each actor; 0: it is not there
  bool claims_and_events;

  explicit Script(std::uint64_t seed);
};

/// The object, as the user writes it.
std::string manifest(const Actor& actor, int version);

}  // namespace sublet::simulation
