#include "simhost/descriptions.h"

#include <zlib.h>

#include <string_view>

#include "sublet/net/digest.h"
#include "sublet/schema/document.h"

namespace sublet::simhost {
namespace {

constexpr char kPacked[] =
#include "packed_descriptions.inc"  // made of descriptions/texts.zz by CMake
    ;
constexpr std::size_t kHead = 4;  // the size of the document, little-endian

std::string unpack() {
  std::size_t size = 0;
  for (std::size_t at = kHead; at-- > 0;) size = size << 8 | static_cast<unsigned char>(kPacked[at]);
  std::string out(size, '\0');
  auto length = static_cast<uLongf>(size);
  const auto code = ::uncompress(reinterpret_cast<Bytef*>(out.data()), &length,
                                 reinterpret_cast<const Bytef*>(kPacked) + kHead, sizeof(kPacked) - 1 - kHead);
  if (code != Z_OK) return {};
  return out;
}

}  // namespace

Result<std::string> described_openapi(const std::string& path) {
  std::string text = unpack();
  if (text.empty()) return internal_error("the descriptions of the built-in types cannot be unpacked");
  if (!path.empty()) return text;
  const auto document = schema::Document::parse_json(text);
  if (!document) return fail(document.error());
  const std::string hash = net::sha256_hex(text, 32);
  schema::Document out = schema::Document::object();
  for (const schema::Value group_version : document->root()["paths"]) out.root().put(group_version.text(), hash);
  return out.to_json();
}

}  // namespace sublet::simhost
