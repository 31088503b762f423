// Certificates: what the API wants of the PEM blocks that certificate signing requests carry. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "apiserver/validation/field_errors.h"

namespace sublet::apiserver {

/// What is wrong with a PKCS#10 request in PEM; "" when it is one and its signature fits its key.
std::string check_certificate_request(std::string_view pem);
/// The organizations (groups) of a request's subject; none when it cannot be read.
std::vector<std::string> request_organizations(std::string_view pem);
/// What is wrong with a chain of certificates in PEM; "" when all is well or there is nothing.
std::string check_certificate_chain(std::string_view pem);

/// What is wrong with a certificate and its key in PEM, in the words of Go's tls.X509KeyPair; "" when they fit.
std::string check_key_pair(std::string_view certificate_pem, std::string_view key_pem);

/// "example.com/signer-name".
void validate_signer_name(Causes& causes, const std::string& path, std::string_view name);

}  // namespace sublet::apiserver
