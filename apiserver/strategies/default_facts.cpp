#include "apiserver/strategies/default_facts.h"

namespace sublet::apiserver {
namespace {

using schema::Document;
using schema::Value;

bool is_unset(const Value& value) {
  if (value.missing() || value.is_null()) return true;
  return value.is_string() && value.text().empty();
}

void set_default(Value object, std::string_view path, std::string_view json) {
  auto dot = path.find('.');
  auto segment = path.substr(0, dot);
  if (dot == std::string_view::npos) {
    if (!is_unset(object[segment])) return;
    auto document = Document::parse_json(json);
    if (document) object.put(segment, document->root());
    return;
  }
  auto rest = path.substr(dot + 1);
  if (segment.ends_with("[]")) {
    for (auto entry : object[segment.substr(0, segment.size() - 2)])
      if (entry.is_object()) set_default(entry, rest, json);
  } else if (segment.ends_with('?')) {
    auto parent = object[segment.substr(0, segment.size() - 1)];
    if (parent.is_object()) set_default(parent, rest, json);
  } else {
    set_default(object.object(segment), rest, json);
  }
}

}  // namespace

void apply_default(Value object, const DefaultFact& fact) {
  if (!fact.when.empty() && object.path(fact.when).text() != fact.is) return;
  set_default(object, fact.path, fact.json);
}

}  // namespace sublet::apiserver
