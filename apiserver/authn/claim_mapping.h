// ClaimMapping: maps the claims of a verified token to a user, by the issuer's configuration. Pure. Source:
// plugin/pkg/authenticator/token/oidc of k8s.io/apiserver.
#pragma once

#include "apiserver/authn/authentication_configuration.h"
#include "sublet/apiserver/options.h"
#include "sublet/schema/document.h"

namespace sublet::apiserver {

/// What expressions about claims may name: `claims`, a map of what the token says.
const patches::cel::Environment& claims_environment();
/// And those about the user whom they made: `user`, an object with username, uid, groups and extra.
const patches::cel::Environment& user_environment();

/// unauthorized, with upstream's words, when a claim is missing, of a wrong kind, or a rule says no.
Result<User> user_of_claims(const JwtIssuer& issuer, const schema::Value& claims);

}  // namespace sublet::apiserver
