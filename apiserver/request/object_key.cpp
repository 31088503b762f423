#include "apiserver/request/object_key.h"

namespace sublet::apiserver {

std::string object_key(const schema::ResourceFacts& resource, std::string_view namespace_name, std::string_view name) {
  std::string key = key_prefix(resource, namespace_name);
  key += name;
  return key;
}

std::string key_prefix(const schema::ResourceFacts& resource, std::string_view namespace_name) {
  std::string key;
  key.reserve(resource.resource.size() + resource.storage_group.size() + namespace_name.size() + 64);
  key += resource.resource;
  if (!resource.storage_group.empty()) key.append(".").append(resource.storage_group);
  key += '/';
  if (!namespace_name.empty()) key.append(namespace_name).append("/");
  return key;
}

std::string_view name_of_key(std::string_view key) { return key.substr(key.rfind('/') + 1); }

std::string_view namespace_of_key(std::string_view key) {
  const auto first = key.find('/'), last = key.rfind('/');
  if (first == last) return {};
  return key.substr(first + 1, last - first - 1);
}

std::string api_version(std::string_view group, std::string_view version) {
  std::string text(group);
  if (!text.empty()) text += '/';
  text += version;
  return text;
}

}  // namespace sublet::apiserver
