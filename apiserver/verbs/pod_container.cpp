#include "apiserver/verbs/pod_container.h"

#include "apiserver/validation/pod_spec.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

// "[a b]"
std::string container_names(const Value& containers) {
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
  if (!spec["containers"].empty()) why += ", choose one of: " + container_names(spec["containers"]);
  if (!spec["initContainers"].empty())
    why += " or one of the init containers: " + container_names(spec["initContainers"]);
  return bad_request(why);
}

}  // namespace sublet::apiserver
