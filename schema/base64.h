// Base64 decoding that says where the text is wrong; private to schema/.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sublet::schema {

/// Decodes as encoding/base64's StdEncoding. False: `bad` is the offset that Go names in "illegal base64 data at input
/// byte N".
bool decode_base64(std::string_view text, std::string& out, std::size_t& bad);

}  // namespace sublet::schema
