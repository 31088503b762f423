// YamlScalar: what a plain YAML scalar means, as go-yaml v2 (behind kubectl) resolves it.
//
// YAML 1.1 booleans (yes, no, on, off, y, n), octal (017, 0o17), hexadecimal, binary, digits parted by underscores;
// timestamps and base-60 numbers stay text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sublet::schema {

struct YamlScalar {
  enum class Kind : std::uint8_t { string, null, boolean, integer, floating } kind = Kind::string;
  std::int64_t integer = 0;  // boolean: 0 or 1
  double floating = 0;
};

YamlScalar resolve_yaml_scalar(std::string_view text);
/// A float as strconv.FormatFloat(f, 'g', -1, bits) writes it; bits is 32 or 64.
std::string format_go_float(double value, int bits);

}  // namespace sublet::schema
