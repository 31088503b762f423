#include "apiserver/codec/object_filter.h"

#include <algorithm>

#include "apiserver/conversion/conversion.h"
#include "apiserver/request/object_key.h"

namespace sublet::apiserver {
namespace {

std::string_view stored_label(const Route& route, std::string_view label) {
  if (const auto* conversion = conversion_of(route))
    for (const auto& alias : conversion->field_aliases)
      if (alias.served == label) return alias.stored;
  return label;
}

bool is_selectable(const Route& route, std::string_view label) {
  if (label == "metadata.name") return true;
  if (label == "metadata.namespace") return route.served->namespaced;
  const auto& fields = strategy_of(route).selectable_fields;
  return std::any_of(fields.begin(), fields.end(), [&](const auto& field) { return field.label == label; });
}

// In upstream's words: a kind without selectable fields of its own says which two there are.
std::string unselectable(const Route& route, const std::string& label) {
  if (!strategy_of(route).selectable_fields.empty()) return "field label not supported: " + label;
  return "\"" + label + "\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"";
}

// Rebuilds the selector in stored labels; only served versions with aliases need it.
std::string translated_selector(const Route& route, const kube::FieldSelector& selector) {
  std::string text;
  for (const auto& term : selector.terms()) {
    if (!text.empty()) text += ',';
    text.append(stored_label(route, term.path)).append(term.negated ? "!=" : "=");
    for (const char c : term.value) {
      if (c == ',' || c == '=' || c == '\\') text += '\\';
      text += c;
    }
  }
  return text;
}

Result<kube::FieldSelector> parse_fields(const Route& route, std::string_view text) {
  auto selector = kube::FieldSelector::parse(text);
  if (!selector) return selector;
  if (conversion_of(route)) selector = kube::FieldSelector::parse(translated_selector(route, *selector));
  if (!selector) return selector;
  for (const auto& term : selector->terms())
    if (!is_selectable(route, term.path)) return bad_request(unselectable(route, term.path));
  return selector;
}

}  // namespace

Result<ObjectFilter> ObjectFilter::parse(const Route& route, const Query& query, std::string_view name) {
  ObjectFilter filter;
  filter.strategy_ = &strategy_of(route);
  auto labels = kube::LabelSelector::parse(query.get("labelSelector"));
  if (!labels) return fail(labels.error());
  std::string field_text(query.get("fieldSelector"));
  if (!name.empty()) field_text += (field_text.empty() ? "metadata.name=" : ",metadata.name=") + std::string(name);
  auto fields = parse_fields(route, field_text);
  if (!fields) return fail(fields.error());
  filter.labels_ = std::move(*labels);
  filter.fields_ = std::move(*fields);
  return filter;
}

bool ObjectFilter::matches(const store::Object& object) const {
  if (!labels_.everything() && !labels_.matches(object.index.labels)) return false;
  if (fields_.everything()) return true;
  return fields_.matches([&](std::string_view path) -> std::string_view {
    if (path == "metadata.name") return name_of_key(object.key);
    if (path == "metadata.namespace") return namespace_of_key(object.key);
    for (const auto& [label, value] : object.index.fields)
      if (label == path) return value;
    for (const auto& field : strategy_->selectable_fields)
      if (field.label == path) return field.when_empty;
    return {};
  });
}

}  // namespace sublet::apiserver
