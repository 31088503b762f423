#include "sublet/store/uid.h"

#include <cstring>
#include <ostream>

namespace sublet::store {
namespace {

constexpr std::size_t kVersionAt = 6, kPointerAt = 8;
constexpr char kDigits[] = "0123456789abcdef";

bool dash_before(std::size_t byte) { return byte == 4 || byte == 6 || byte == 8 || byte == 10; }

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/// False when it is not exactly what write() makes of sixteen bytes.
bool parse(std::string_view text, unsigned char (&out)[16]) {
  std::size_t at = 0;
  for (std::size_t i = 0; i < 16; ++i) {
    if (dash_before(i) && text[at++] != '-') return false;
    const int high = digit(text[at]), low = digit(text[at + 1]);
    if (high < 0 || low < 0) return false;
    out[i] = static_cast<unsigned char>(high << 4 | low);
    at += 2;
  }
  return (out[kVersionAt] & 0xf0) != 0;
}

}  // namespace

Uid::Uid(std::string_view text) {
  if (text.size() == kTextSize && parse(text, bytes_.at)) return;
  bytes_ = {};
  if (text.empty()) return;
  auto* kept = new std::string(text);
  std::memcpy(bytes_.at + kPointerAt, &kept, sizeof(void*));
}

Uid::Uid(const Uid& other) : bytes_(other.bytes_) {
  if (const std::string* text = other.other_text(); text != nullptr) {
    auto* kept = new std::string(*text);
    std::memcpy(bytes_.at + kPointerAt, &kept, sizeof(void*));
  }
}

Uid::~Uid() { delete other_text(); }

bool Uid::packed() const { return (bytes_.at[kVersionAt] & 0xf0) != 0; }

std::string* Uid::other_text() const {
  std::string* text = nullptr;
  if (!packed()) std::memcpy(&text, bytes_.at + kPointerAt, sizeof(void*));
  return text;
}

bool Uid::empty() const { return !packed() && other_text() == nullptr; }

void Uid::write(char (&text)[kTextSize]) const {
  std::size_t at = 0;
  for (std::size_t i = 0; i < 16; ++i) {
    if (dash_before(i)) text[at++] = '-';
    text[at++] = kDigits[bytes_.at[i] >> 4];
    text[at++] = kDigits[bytes_.at[i] & 15];
  }
}

std::string Uid::str() const {
  if (!packed()) return other_text() == nullptr ? std::string() : *other_text();
  char text[kTextSize];
  write(text);
  return std::string(text, kTextSize);
}

bool Uid::equals(const Uid& other) const {
  if (packed() != other.packed()) return false;
  if (packed()) return std::memcmp(bytes_.at, other.bytes_.at, sizeof bytes_.at) == 0;
  return str() == other.str();
}

bool Uid::equals(std::string_view text) const {
  if (!packed()) return other_text() == nullptr ? text.empty() : *other_text() == text;
  char mine[kTextSize];
  write(mine);
  return std::string_view(mine, kTextSize) == text;
}

std::ostream& operator<<(std::ostream& out, const Uid& uid) { return out << uid.str(); }

}  // namespace sublet::store
