// Verdict: what becomes of an object, judged by the state of its owners alone. Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace sublet::controllers {

enum class OwnerState : std::uint8_t {
  solid,    // it is there
  absent,   // there is none of this name and uid where the object could see it
  waits,    // it is being deleted, after what it owns
  unknown,  // of a kind that is not served, or in no namespace that could be meant: nothing follows
};

enum class Verdict : std::uint8_t {
  keep,
  drop_owners,           // a solid owner keeps it; the others are forgotten
  remove_in_foreground,  // its owner waits, and it owns objects itself
  remove,
};

inline Verdict judge(const std::vector<OwnerState>& owners, bool owns_others) {
  const auto count = [&](OwnerState state) { return std::count(owners.begin(), owners.end(), state); };
  if (owners.empty() || count(OwnerState::unknown) > 0) return Verdict::keep;
  const auto absent = count(OwnerState::absent), waits = count(OwnerState::waits);
  if (count(OwnerState::solid) > 0) return absent + waits > 0 ? Verdict::drop_owners : Verdict::keep;
  return waits > 0 && owns_others ? Verdict::remove_in_foreground : Verdict::remove;
}

}  // namespace sublet::controllers
