// RefuseToken: the 401 of a bearer token, with the reason for logs and TokenReview.
#pragma once

#include <string>
#include <utility>

#include "sublet/base/status.h"

namespace sublet::apiserver {

inline tl::unexpected<Status> refuse_token(std::string why) { return fail(Reason::unauthorized, std::move(why)); }

}  // namespace sublet::apiserver
