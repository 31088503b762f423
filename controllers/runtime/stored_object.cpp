#include "sublet/controllers/stored_object.h"

#include <utility>

#include "sublet/kube/json_scan.h"

namespace sublet::controllers {

std::string key_prefix(const kube::Resource& resource) {
  std::string prefix = resource.resource;
  if (!resource.group.empty()) prefix.append(".").append(resource.group);
  return prefix + "/";
}

std::string_view name_of(const store::Object& object) {
  std::string_view key = object.key;
  return key.substr(key.rfind('/') + 1);
}

std::string_view namespace_of(const store::Object& object) {
  std::string_view key = object.key;
  auto first = key.find('/'), last = key.rfind('/');
  return first == last ? std::string_view() : key.substr(first + 1, last - first - 1);
}

std::string_view raw_of(const store::Object& object, std::initializer_list<std::string_view> path) {
  std::string_view at = object.bytes;
  for (auto key = path.begin(); key != path.end(); ++key)
    at = key + 1 == path.end() ? kube::json_member(at, *key).value_or("") : kube::json_from(at, *key);
  return at;
}

bool has_finalizer(const store::Object& object, std::string_view finalizer) {
  kube::JsonScanner scanner(raw_of(object, {"metadata", "finalizers"}));
  std::string_view key, value;
  while (scanner.next(key, value))
    if (kube::json_unquote(value) == finalizer) return true;
  return false;
}

bool is_ending(const store::Object& object) { return !raw_of(object, {"metadata", "deletionTimestamp"}).empty(); }

schema::Document document_of(const store::Object& object) {
  auto parsed = schema::Document::parse_json(object.json());
  return parsed ? std::move(*parsed) : schema::Document();
}

}  // namespace sublet::controllers
