#include "patches/go_text.h"

#include <algorithm>

namespace sublet::patches {

using schema::NodeKind;
using schema::Value;

namespace {

void append_go_text(std::string& out, const Value& value) {
  switch (value.kind()) {
    case NodeKind::null:
      out += "<nil>";
      return;
    case NodeKind::string:
      out += value.text();
      return;
    case NodeKind::array: {
      out += '[';
      const char* separator = "";
      for (Value item : value) {
        out += separator;
        append_go_text(out, item);
        separator = " ";
      }
      out += ']';
      return;
    }
    case NodeKind::object: {
      std::vector<Value> members;
      for (Value member : value) members.push_back(member);
      std::sort(members.begin(), members.end(), [](const Value& a, const Value& b) { return a.key() < b.key(); });
      out += "map[";
      const char* separator = "";
      for (const Value& member : members) {
        out += separator;
        out += member.key();
        out += ':';
        append_go_text(out, member);
        separator = " ";
      }
      out += ']';
      return;
    }
    default:
      value.append_json(out);
  }
}

void append_go_syntax(std::string& out, const Value& value) {
  std::string_view separator;
  if (value.is_string()) {
    out += go_quoted(value.text());
  } else if (value.is_array()) {
    out += "[]interface {}{";
    for (const Value item : value) {
      out += separator;
      append_go_syntax(out, item);
      separator = ", ";
    }
    out += '}';
  } else if (value.is_object()) {
    std::vector<Value> members(value.begin(), value.end());
    std::sort(members.begin(), members.end(), [](const Value& a, const Value& b) { return a.key() < b.key(); });
    out += "map[string]interface {}{";
    for (const Value& member : members) {
      out.append(separator).append(go_quoted(member.key())).append(":");
      append_go_syntax(out, member);
      separator = ", ";
    }
    out += '}';
  } else {
    append_go_text(out, value);
  }
}

}  // namespace

std::string go_text(const Value& value) {
  std::string out;
  append_go_text(out, value);
  return out;
}

std::string go_syntax(const Value& value) {
  std::string out;
  append_go_syntax(out, value);
  return out;
}

std::string_view go_type(const Value& value) {
  if (value.is_object()) return "map[string]interface {}";
  if (value.is_array()) return "[]interface {}";
  if (value.is_string()) return "string";
  if (value.is_boolean()) return "bool";
  if (value.is_integer()) return "int64";
  return value.is_floating() ? "float64" : "%!s(<nil>)";
}

}  // namespace sublet::patches
