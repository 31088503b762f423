// Base64 decoding that says where the text is wrong, and what needs none; private to schema/.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sublet::schema {

/// Decodes as encoding/base64's StdEncoding. False: `bad` is the offset that Go names in "illegal base64 data at input
/// byte N".
bool decode_base64(std::string_view text, std::string& out, std::size_t& bad);
/// It is what base64_encode() makes of the bytes that it stands for: no line breaks, no bits that count for nothing.
bool is_canonical_base64(std::string_view text);

}  // namespace sublet::schema
