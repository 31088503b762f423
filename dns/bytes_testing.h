// DNS messages as tests write them down.
#pragma once

#include <string>

#include "dns/wire.h"

namespace sublet::dns {

/// Returns the bytes of `text`, which must outlive them.
inline Bytes bytes_of(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

}  // namespace sublet::dns
