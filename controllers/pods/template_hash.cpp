#include "controllers/pods/template_hash.h"

#include "controllers/runtime/object_ref.h"

namespace sublet::controllers {
namespace {

constexpr std::string_view kSafeLetters = "bcdfghjklmnpqrstvwxz2456789";

void fnv1a(std::uint32_t& hash, std::string_view bytes) {
  for (const unsigned char byte : bytes) hash = (hash ^ byte) * 16777619u;
}

}  // namespace

std::string safe_encoded(std::uint32_t hash) {
  std::string text = std::to_string(hash);
  for (auto& character : text) character = kSafeLetters[static_cast<unsigned char>(character) % kSafeLetters.size()];
  return text;
}

std::string template_hash(const schema::Value& pod_template, std::optional<std::int64_t> collisions) {
  std::uint32_t hash = 2166136261u;
  fnv1a(hash, pod_template.to_json());
  if (collisions) {
    char bytes[8] = {};
    for (int i = 0; i < 4; ++i) bytes[i] = static_cast<char>((*collisions >> (8 * i)) & 0xff);
    fnv1a(hash, std::string_view(bytes, sizeof(bytes)));
  }
  return safe_encoded(hash);
}

std::string set_name(std::string_view owner, std::string_view hash) {
  return std::string(owner.substr(0, kObjectNameMax - 1 - hash.size())).append("-").append(hash);
}

}  // namespace sublet::controllers
