// Writes headers as a text for comparisons.
#pragma once

#include <string>

#include "sublet/net/http.h"

namespace sublet::kube {

/// Returns "name=value;" of each header, in order.
inline std::string headers_text(const net::Headers& headers) {
  std::string text;
  for (const auto& [name, value] : headers) text += name + "=" + value + ";";
  return text;
}

}  // namespace sublet::kube
