#include "apiserver/apply/last_applied.h"

namespace sublet::apiserver {
namespace {

using schema::Document;
using schema::Value;

constexpr std::string_view kLastAppliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration";
constexpr std::size_t kAnnotationBytesMax = 256 << 10;

void sort_all_keys(Value value) {
  if (value.is_object()) value.sort_keys();
  for (const Value child : value) sort_all_keys(child);
}

std::size_t annotation_bytes(const Value& annotations) {
  std::size_t bytes = 0;
  for (const Value annotation : annotations) bytes += annotation.key().size() + annotation.text().size();
  return bytes;
}

}  // namespace

std::optional<patches::FieldSet> last_applied_fields(const patches::TypedObject& live) {
  const auto text = live.value["metadata"]["annotations"][kLastAppliedAnnotation].text();
  if (text.empty()) return std::nullopt;
  const auto applied = Document::parse_json(text);
  if (!applied || !applied->root().is_object()) return std::nullopt;
  if ((*applied)["apiVersion"].text() != live.version || (*applied)["kind"].text().empty()) return std::nullopt;
  if (!check_type(applied->root(), *live.type, patches::Duplicates::refused).empty()) return std::nullopt;
  patches::TypeErrors errors;
  auto differences = compare(applied->root(), live.value, *live.type, errors);
  if (!errors.empty()) return std::nullopt;
  auto fields = fields_of(applied->root(), *live.type);
  for (const auto* others : {&differences.modified, &differences.added, &differences.removed}) fields.subtract(*others);
  return fields;
}

void update_last_applied(Value metadata, const Value& config) {
  Value annotations = metadata["annotations"];
  if (annotations[kLastAppliedAnnotation].text().empty()) return;
  Document applied = Document::copy_of(config);
  applied["metadata"]["annotations"].erase(kLastAppliedAnnotation);
  sort_all_keys(applied.root());
  annotations.put(kLastAppliedAnnotation, applied.to_json() + "\n");  // as kubectl writes it
  if (annotation_bytes(annotations) > kAnnotationBytesMax) annotations.erase(kLastAppliedAnnotation);
}

}  // namespace sublet::apiserver
