#include "apiserver/codec/object_filter.h"

#include <algorithm>
#include <functional>

#include "apiserver/codec/object_bytes.h"
#include "apiserver/conversion/conversion.h"
#include "apiserver/request/object_key.h"
#include "apiserver/strategies/version_fields.h"

namespace sublet::apiserver {
namespace {

constexpr std::string_view kNamePath = "metadata.name", kNamespacePath = "metadata.namespace";

std::string_view stored_label(const Route& route, std::string_view label) {
  if (const auto* conversion = conversion_of(route))
    for (const auto& alias : conversion->field_aliases)
      if (alias.served == label) return alias.stored;
  return label;
}

const std::vector<SelectableField>& fields_of(const Route& route) {
  const auto* own = route.kinds->entry<VersionFields>(*route.served);
  return own ? own->fields : strategy_of(route).selectable_fields;
}

const SelectableField* find_field(const Route& route, std::string_view label) {
  const auto& fields = fields_of(route);
  const auto found = std::ranges::find(fields, label, &SelectableField::label);
  return found == fields.end() ? nullptr : &*found;
}

bool is_of_metadata(std::string_view label) { return label == kNamePath || label == kNamespacePath; }

bool is_selectable(const Route& route, std::string_view label) {
  if (label == kNamePath) return true;
  if (label == kNamespacePath) return route.served->namespaced;
  return find_field(route, label) != nullptr;
}

// In upstream's words: a built-in kind without selectable fields of its own says which two there are.
std::string unselectable(const Route& route, const std::string& label) {
  if (route.served->group == "batch" && route.served->resource == "jobs")
    return "field label \"" + label + "\" not supported for Job";
  if (route.served->custom || !fields_of(route).empty()) return "field label not supported: " + label;
  return "\"" + label + "\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"";
}

// What is stored of a custom kind need not be what this version shows of it.
bool shows_otherwise(const Route& route) { return route.served->custom && conversion_of(route); }

// The terms as a selector's text.
template <class Takes>
std::string selector_text(const Route& route, const kube::FieldSelector& selector, const Takes& takes) {
  std::string text;
  for (const auto& term : selector.terms()) {
    if (!takes(term.path)) continue;
    if (!text.empty()) text += ',';
    text.append(stored_label(route, term.path)).append(term.negated ? "!=" : "=");
    for (const char c : term.value) {
      if (c == ',' || c == '=' || c == '\\') text += '\\';
      text += c;
    }
  }
  return text;
}

}  // namespace

Outcome ObjectFilter::parse_fields(std::string_view text) {
  auto selector = kube::FieldSelector::parse(text);
  if (!selector) return fail(selector.error());
  if (conversion_of(*route_)) {
    const bool splits = shows_otherwise(*route_);
    const auto by_index = [splits](std::string_view label) { return !splits || is_of_metadata(label); };
    auto inside = kube::FieldSelector::parse(selector_text(*route_, *selector, std::not_fn(by_index)));
    selector = kube::FieldSelector::parse(selector_text(*route_, *selector, by_index));
    if (!selector || !inside) return fail(selector ? inside.error() : selector.error());
    fields_inside_ = std::move(*inside);
  }
  fields_ = std::move(*selector);
  for (const auto* one : {&fields_, &fields_inside_})
    for (const auto& term : one->terms())
      if (!is_selectable(*route_, term.path)) return bad_request(unselectable(*route_, term.path));
  return {};
}

Result<ObjectFilter> ObjectFilter::parse(const Route& route, const Query& query, std::string_view name) {
  ObjectFilter filter;
  filter.route_ = &route;
  auto labels = kube::LabelSelector::parse(query.get("labelSelector"));
  if (!labels) return fail(labels.error());
  filter.labels_ = std::move(*labels);
  std::string field_text(query.get("fieldSelector"));
  if (!name.empty()) field_text += (field_text.empty() ? "metadata.name=" : ",metadata.name=") + std::string(name);
  if (auto parsed = filter.parse_fields(field_text); !parsed) return fail(parsed.error());
  return filter;
}

bool ObjectFilter::may_match(const store::Object& object) const {
  if (!labels_.everything() && !labels_.matches(object.index.labels)) return false;
  if (fields_.everything()) return true;
  return fields_.matches([&](std::string_view path) -> std::string_view {
    if (path == kNamePath) return name_of_key(object.key);
    if (path == kNamespacePath) return namespace_of_key(object.key);
    for (const auto& [label, value] : object.index.fields)
      if (label == path) return value;
    const SelectableField* field = find_field(*route_, path);
    return field ? field->when_empty : std::string_view();
  });
}

Result<bool> ObjectFilter::matches(const store::Object& object) const {
  if (!may_match(object)) return false;
  if (!reads_objects()) return true;
  const auto document = served_document(object, *route_);
  if (!document) return fail(document.error());
  std::string text;  // outlives the comparison that it is made for
  return fields_inside_.matches([&](std::string_view path) -> std::string_view {
    const SelectableField* field = find_field(*route_, path);
    return field ? std::string_view(text = field_text(document->root(), *field)) : std::string_view();
  });
}

Result<std::shared_ptr<const void>> ObjectFilter::prepare(std::span<const store::Object* const> objects) const {
  const WebhookConversion* outside = webhook_conversion_of(*route_);
  if (!reads_objects() || !outside || !MayWait::here()) return nullptr;
  return outside->prepare(objects);
}

}  // namespace sublet::apiserver
