// SigningRequest: a PKCS#10 certificate signing request, read and answered: what a signer of the certificates API does.
//
// Pure but for the random serial number; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sublet/base/clock.h"
#include "sublet/base/status.h"
#include "sublet/net/tls_context.h"

namespace sublet::net {

struct SigningRequest {
  std::string common_name;
  std::vector<std::string> organizations;
  std::vector<std::string> dns_names;
  std::size_t ip_addresses = 0, email_addresses = 0, uris = 0;  // how many of these names it has
};

/// bad_request when the text holds no PEM block of a certificate request.
Result<SigningRequest> read_signing_request(std::string_view pem);

/// What the certificate may be used for (the API's words: "client auth", "digital signature") and when.
struct SigningTerms {
  std::vector<std::string> usages;
  WallTime not_before, not_after;  // the end is cut to the authority's own
};
/// The certificate, PEM: subject, names and key of the request, nothing else of it; never an authority's. bad_request
/// for a usage that is not known, or when the authority's certificate has ended.
Result<std::string> sign_request(std::string_view pem, const KeyPair& authority, const SigningTerms& terms);

}  // namespace sublet::net
