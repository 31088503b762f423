#include "patches/go_text.h"

#include <algorithm>

namespace sublet::patches {

using schema::NodeKind;
using schema::Value;

namespace {

void append(std::string& out, const Value& value) {
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
        append(out, item);
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
        append(out, member);
        separator = " ";
      }
      out += ']';
      return;
    }
    default:
      value.append_json(out);
  }
}

}  // namespace

std::string go_text(const Value& value) {
  std::string out;
  append(out, value);
  return out;
}

}  // namespace sublet::patches
