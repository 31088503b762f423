#include "apiserver/verbs/pod_container.h"

#include <algorithm>

namespace sublet::apiserver {
namespace {

using schema::Value;

constexpr std::string_view kContainerLists[] = {"containers", "initContainers", "ephemeralContainers"};

bool has_container(const Value& spec, std::string_view name) {
  return std::ranges::any_of(kContainerLists, [&](std::string_view list) {
    for (const Value container : spec[list])
      if (container["name"].text() == name) return true;
    return false;
  });
}

// "[a b]"
std::string names_of(const Value& containers) {
  std::string text = "[";
  for (const Value container : containers) {
    if (text.size() > 1) text += ' ';
    text += container["name"].text();
  }
  return text + "]";
}

}  // namespace

Result<std::string> container_of(const Value& pod, std::string_view asked) {
  const Value spec = pod["spec"];
  const std::string name = pod["metadata"]["name"].string();
  if (!asked.empty()) {
    if (has_container(spec, asked)) return std::string(asked);
    return bad_request("container " + std::string(asked) + " is not valid for pod " + name);
  }
  if (spec["containers"].size() == 1) return spec["containers"].at(0)["name"].string();
  std::string why = "a container name must be specified for pod " + name;
  if (!spec["containers"].empty()) why += ", choose one of: " + names_of(spec["containers"]);
  if (!spec["initContainers"].empty()) why += " or one of the init containers: " + names_of(spec["initContainers"]);
  return bad_request(why);
}

}  // namespace sublet::apiserver
