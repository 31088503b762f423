#include "bench/api_steps.h"

#include <random>
#include <string_view>

namespace sublet::bench {
namespace {

/// A name that no earlier run on this server has used.
std::string unique(const std::string& stem) {
  static const std::string run = std::to_string(std::random_device{}() % 1'000'000'000);
  return stem + "-" + run;
}

}  // namespace

std::string config_maps_path(const std::string& namespace_name) {
  return "/api/v1/namespaces/" + namespace_name + "/configmaps";
}

std::string make_namespace(Connection& connection, const std::string& stem) {
  const std::string name = unique(stem);
  connection.expect({.method = "POST",
                     .path = "/api/v1/namespaces",
                     .body = R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":")" + name + "\"}}"});
  return name;
}

std::string resource_version(const std::string& json) {
  const std::string_view key = "\"resourceVersion\":\"";
  const std::size_t at = json.find(key);
  if (at == std::string::npos) die("a list without resourceVersion: " + json.substr(0, 200));
  const std::size_t begin = at + key.size();
  return json.substr(begin, json.find('"', begin) - begin);
}

}  // namespace sublet::bench
