#include "apiserver/codec/object_bytes.h"

#include "apiserver/conversion/conversion.h"
#include "sublet/kube/json_scan.h"
#include "sublet/schema/engine.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

constexpr std::string_view kApiVersionMember = "apiVersion";

// Writes the root's members, and notes where the value of metadata.resourceVersion begins.
std::uint32_t append_with_hole(std::string& out, const Value& root) {
  std::uint32_t hole = store::Object::kNoHole;
  const auto separate = [&out](bool& first) {
    if (!first) out += ',';
    first = false;
  };
  out += '{';
  bool first = true;
  for (Value member : root) {
    separate(first);
    schema::append_json_string(out, member.key());
    out += ':';
    if (member.key() != "metadata") {
      member.append_json(out);
      continue;
    }
    out += '{';
    bool first_meta = true;
    for (Value meta : member) {
      separate(first_meta);
      schema::append_json_string(out, meta.key());
      out += ':';
      if (meta.key() != "resourceVersion") {
        meta.append_json(out);
        continue;
      }
      out += '"';
      hole = static_cast<std::uint32_t>(out.size());
      out += '"';
    }
    out += '}';
  }
  out += '}';
  return hole;
}

store::Index make_index(const Value& root, const Strategy& strategy) {
  store::Index index;
  const Value meta = root["metadata"];
  index.uid = meta["uid"].string();
  for (Value label : meta["labels"]) index.labels.emplace_back(label.key(), label.string());
  for (Value owner : meta["ownerReferences"]) index.owner_uids.push_back(owner["uid"].string());
  for (const auto& field : strategy.selectable_fields) {
    std::string text = field_text(root, field);
    if (text != field.when_empty) index.fields.emplace_back(field.label, std::move(text));
  }
  return index;
}

}  // namespace

std::string field_text(const Value& object, const SelectableField& field) {
  Value value = object.path(field.path);
  if (value.text().empty() && !field.fallback_path.empty()) value = object.path(field.fallback_path);
  if (value.is_string()) return value.string();
  if (value.is_boolean()) return value.boolean() ? "true" : "false";
  if (value.is_integer()) return std::to_string(value.integer());
  if (value.is_array()) {  // status.podIPs: the addresses, joined
    std::string joined;
    for (Value item : value) {
      if (!joined.empty()) joined += ',';
      joined += item.is_object() ? (*item.begin()).text() : item.text();
    }
    if (!joined.empty()) return joined;
  }
  return std::string(field.when_empty);
}

Result<store::Put> make_put(Value root, const schema::ResourceFacts& storage, const Strategy& strategy,
                            StoredVersion version) {
  if (version == StoredVersion::hole)
    root.object("metadata").put("resourceVersion", "0");  // keeps the place; the text has the hole instead
  else
    root.object("metadata").erase("resourceVersion");
  if (auto outcome = schema::conform(root, storage.type, nullptr, schema::Strangers::kept); !outcome)
    return fail(outcome.error());
  const std::string said = strategy.says_version ? root["apiVersion"].string() : std::string();
  root.erase("kind");
  root.erase("apiVersion");
  if (!said.empty()) root.put(kApiVersionMember, said);
  store::Put put;
  put.bytes.reserve(1024);
  put.hole = append_with_hole(put.bytes, root);
  put.bytes.shrink_to_fit();
  put.index = make_index(root, strategy);
  return put;
}

void append_typed_json(std::string& out, std::string_view prefix, const store::Object& object) {
  out += prefix;
  const std::size_t brace = out.size();
  object.append_json(out);
  out.erase(brace, 1);  // the stored text's own brace
}

std::string metadata_json(const store::Object& object) {
  const std::string text = object.json();
  return std::string(kube::json_member(text, "metadata").value_or("{}"));
}

Result<schema::Document> stored_document(const store::Object& object) {
  return schema::Document::parse_json(object.json());
}

std::optional<schema::Document> read_stored(const store::Snapshot& state, const std::string& key) {
  const auto stored = state.get(key);
  if (!stored) return std::nullopt;
  auto document = stored_document(*stored);
  return document ? std::optional(std::move(*document)) : std::nullopt;
}

std::string take_version(std::string& text) {
  constexpr std::string_view kMember = ",\"apiVersion\":\"";
  const auto at = text.rfind(kMember);
  if (at == std::string::npos || !text.ends_with("\"}")) return {};
  const auto begin = at + kMember.size(), end = text.size() - 2;
  if (text.find('"', begin) != end) return {};  // somebody else's, deeper
  std::string version = text.substr(begin, end - begin);
  text.erase(at, end + 1 - at);
  return version;
}

Result<schema::Document> served_document(const store::Object& object, const Route& route) {
  const auto* conversion = conversion_of(route);
  const auto parsed = [&]() -> Result<schema::Document> {
    if (conversion && conversion->outside) return conversion->outside->read(object);
    std::string text;
    text.reserve(object.bytes.size() + 96);
    append_typed_json(text, route.type_prefix, object);
    if (conversion && route.served->custom) (void)take_version(text);  // a webhook converted it once
    return schema::Document::parse_json(text);
  };
  auto document = parsed();
  if (!document) return document;
  if (conversion) {
    conversion->from_storage(document->root());
    if (auto outcome = schema::conform(document->root(), route.type()); !outcome) return fail(outcome.error());
  }
  return document;
}

Result<schema::Document> working_document(const store::Object& object, const Route& route) {
  return webhook_conversion_of(route) ? served_document(object, route) : stored_document(object);
}

}  // namespace sublet::apiserver
