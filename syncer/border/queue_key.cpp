#include "syncer/border/queue_key.h"

namespace sublet::syncer {

std::string queue_key(std::string_view kind, std::string_view namespace_name, std::string_view name) {
  return std::string(kind).append("/").append(namespace_name).append("/").append(name);
}

KeyParts split_key(std::string_view key) {
  const auto first = key.find('/');
  const auto second = key.find('/', first + 1);
  return {key.substr(0, first), key.substr(first + 1, second - first - 1), key.substr(second + 1)};
}

}  // namespace sublet::syncer
