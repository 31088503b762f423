#include "apiserver/discovery/host_texts.h"

#include <utility>

#include "sublet/kube/json_scan.h"
#include "sublet/net/digest.h"

namespace sublet::apiserver {
namespace {

std::string_view schema_description(std::string_view schema) {
  const auto text = kube::json_member(schema, "description");
  return text ? *text : std::string_view();
}

}  // namespace

HostTexts::HostTexts(std::shared_ptr<const std::string> document) : document_(std::move(document)) {
  const auto components = kube::json_member(*document_, "components");
  const auto schemas = components ? kube::json_member(*components, "schemas") : std::nullopt;
  if (!schemas) return;
  kube::JsonScanner definitions(*schemas);
  std::string_view name, schema;
  while (definitions.next(name, schema)) {
    Definition& definition = definitions_[name];
    definition.text = schema_description(schema);
    const auto properties = kube::json_member(schema, "properties");
    if (!properties) continue;
    kube::JsonScanner fields(*properties);
    std::string_view field, of_field;
    while (fields.next(field, of_field))
      if (const auto text = schema_description(of_field); !text.empty()) definition.fields.emplace(field, text);
  }
}

std::string HostTexts::of(std::string_view definition) const {
  const auto found = definitions_.find(definition);
  return found == definitions_.end() ? std::string() : kube::json_unquote(found->second.text);
}

std::string HostTexts::of(std::string_view definition, std::string_view field) const {
  const auto found = definitions_.find(definition);
  if (found == definitions_.end()) return {};
  const auto text = found->second.fields.find(field);
  return text == found->second.fields.end() ? std::string() : kube::json_unquote(text->second);
}

HostHashes HostHashes::read(std::string_view json) {
  HostHashes hashes;
  kube::JsonScanner scanner(json);
  std::string_view path, hash;
  while (scanner.next(path, hash))
    if (auto text = kube::json_unquote(hash); !text.empty()) hashes.by_path.emplace(path, std::move(text));
  if (!scanner.complete()) return {};
  if (!hashes.by_path.empty()) hashes.key = net::sha256_hex(json, 32);
  return hashes;
}

}  // namespace sublet::apiserver
