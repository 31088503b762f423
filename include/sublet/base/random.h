// Random: the only source of randomness in the core, so that a test can fix it.
//
// SystemRandom reads the kernel (getrandom) and is safe from any thread. SeededRandom repeats itself for tests.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "sublet/base/mutex.h"

namespace sublet {

class Random {
 public:
  virtual ~Random() = default;
  virtual void fill(std::span<std::uint8_t> out) = 0;
  std::uint64_t next();
  static Random& system();  // process-wide, never destroyed
};

class SeededRandom final : public Random {
 public:
  explicit SeededRandom(std::uint64_t seed);
  ~SeededRandom() override;
  void fill(std::span<std::uint8_t> out) override;

 private:
  struct Engine;
  Mutex mutex_;
  const std::unique_ptr<Engine> engine_ SUBLET_PT_GUARDED_BY(mutex_);
};

/// A version-4 UUID in lower case.
std::string uuid_v4(Random& random);
/// `length` characters of the alphabet that generateName and upstream controllers use (no vowels, no look-alikes).
std::string name_suffix(Random& random, int length);

}  // namespace sublet
