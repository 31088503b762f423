#include "apiserver/strategies/default_facts.h"

namespace sublet::apiserver {
namespace {

using schema::Document;
using schema::Value;

bool is_unset(const Value& value, const DefaultFact& fact) {
  if (fact.zero_too && value.is_integer() && value.integer() == 0) return true;
  if (value.missing() || value.is_null()) return true;
  return !fact.is_pointer && value.is_string() && value.text().empty();
}

void set_default(Value object, std::string_view path, const DefaultFact& fact) {
  auto dot = path.find('.');
  auto segment = path.substr(0, dot);
  if (dot == std::string_view::npos) {
    if (!is_unset(object[segment], fact)) return;
    auto document = Document::parse_json(fact.json);
    if (document) object.put(segment, document->root());
    return;
  }
  auto rest = path.substr(dot + 1);
  if (segment.ends_with("[]")) {
    for (auto entry : object[segment.substr(0, segment.size() - 2)])
      if (entry.is_object()) set_default(entry, rest, fact);
  } else if (segment.ends_with('?')) {
    auto parent = object[segment.substr(0, segment.size() - 1)];
    if (parent.is_object()) set_default(parent, rest, fact);
  } else {
    set_default(object.object(segment), rest, fact);
  }
}

}  // namespace

void apply_default(Value object, const DefaultFact& fact) {
  if (!fact.when.empty() && object.path(fact.when).text() != fact.is) return;
  set_default(object, fact.path, fact);
}

}  // namespace sublet::apiserver
