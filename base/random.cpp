#include "sublet/base/random.h"

#include <sys/random.h>

#include <cerrno>
#include <cstdlib>
#include <random>

namespace sublet {
namespace {

class SystemRandom final : public Random {
 public:
  void fill(std::span<std::uint8_t> out) override {
    std::size_t done = 0;
    while (done < out.size()) {
      const ssize_t n = getrandom(out.data() + done, out.size() - done, 0);
      if (n > 0) done += static_cast<std::size_t>(n);
      // Only EINTR can come back here: the call blocks until the pool is ready. Going on without it would be worse.
      else if (errno != EINTR)
        std::abort();
    }
  }
};

}  // namespace

Random& Random::system() {
  static SystemRandom random;
  return random;
}

std::uint64_t Random::next() {
  std::uint8_t bytes[8];
  fill(bytes);
  std::uint64_t value = 0;
  for (const auto byte : bytes) value = value << 8 | byte;
  return value;
}

struct SeededRandom::Engine {
  std::mt19937_64 twister;
};

SeededRandom::SeededRandom(std::uint64_t seed) : engine_(std::make_unique<Engine>(Engine{std::mt19937_64(seed)})) {}
SeededRandom::~SeededRandom() = default;

void SeededRandom::fill(std::span<std::uint8_t> out) {
  const MutexLock lock(mutex_);
  for (auto& byte : out) byte = static_cast<std::uint8_t>(engine_->twister());
}

std::string uuid_v4(Random& random) {
  std::uint8_t b[16];
  random.fill(b);
  b[6] = static_cast<std::uint8_t>((b[6] & 0x0f) | 0x40);
  b[8] = static_cast<std::uint8_t>((b[8] & 0x3f) | 0x80);
  static constexpr char kHex[] = "0123456789abcdef";
  std::string text;
  text.reserve(36);
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += kHex[b[i] >> 4];
    text += kHex[b[i] & 15];
  }
  return text;
}

std::string name_suffix(Random& random, int length) {
  static constexpr std::string_view kAlphabet = "bcdfghjklmnpqrstvwxz2456789";
  std::string text;
  for (int i = 0; i < length; ++i) text += kAlphabet[random.next() % kAlphabet.size()];
  return text;
}

}  // namespace sublet
