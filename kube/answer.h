// What an HTTP answer that is no success says, as a Status. Shared by the blocking calls and the streams.
#pragma once

#include <string_view>

#include "sublet/base/status.h"
#include "sublet/net/http.h"

namespace sublet::kube {

/// From a Status body, else from the code alone. Retry-After in the headers counts too.
Status status_from_answer(int code, const net::Headers& headers, std::string_view body);

inline bool is_success(int code) { return code >= 200 && code < 300; }

}  // namespace sublet::kube
