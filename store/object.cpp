#include "sublet/store/object.h"

#include <charconv>

namespace sublet::store {

void Object::append_json(std::string& out) const {
  if (hole == kNoHole) {
    out += bytes;
    return;
  }
  char digits[20];
  const char* end = std::to_chars(digits, digits + sizeof(digits), revision).ptr;
  out.append(bytes, 0, hole);
  out.append(digits, static_cast<std::size_t>(end - digits));
  out.append(bytes, hole, std::string::npos);
}

std::string Object::json() const {
  std::string out;
  out.reserve(bytes.size() + 20);
  append_json(out);
  return out;
}

}  // namespace sublet::store
