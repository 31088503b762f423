// Impersonation: a request that is made as somebody else (Impersonate-User and its companions), when the one who makes
// it may do that.
//
// The ways in upstream's order: first those that are narrow (KEP 5284: only what the asker may do as that kind of
// user, each by verbs of its own, impersonate-on:MODE:VERB and impersonate:MODE), last the plain verb `impersonate`
// on users, groups, serviceaccounts, uids and userextras. When none is allowed, the first one's refusal is the answer,
// but that of the plain verb where it allowed the name itself. (Upstream remembers which way was taken last, and
// answers for that one.)
#pragma once

#include "apiserver/request/request_context.h"

namespace sublet::apiserver {

/// Makes context.user the one that the headers name; leaves it when they name none.
Outcome impersonate(RequestContext& context);

}  // namespace sublet::apiserver
