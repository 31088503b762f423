// NamedFormat: a format that values of strings are held against, format.dns1123Label() and its like.
#pragma once

#include "sublet/patches/cel_value.h"

namespace sublet::patches::cel {

class NamedFormat : public Opaque {
 public:
  Kind kind() const final { return Kind::format; }
  /// What a check costs goes by the length of its pattern.
  virtual std::uint64_t pattern_size() const = 0;
};

}  // namespace sublet::patches::cel
