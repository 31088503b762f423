// What the certificate controllers share: requests as the API has them, and what the signers of Kubernetes' own names
// ask of one. Pure.
// Source: pkg/apis/certificates/helpers.go of Kubernetes.
#pragma once

#include <set>
#include <string>

#include "sublet/kube/client.h"
#include "sublet/net/signing_request.h"
#include "sublet/schema/document.h"

namespace sublet::controllers {

inline const kube::Resource kCertificateRequests{"certificates.k8s.io", "v1", "certificatesigningrequests"};

/// It has a condition of this type, which is True.
bool has_condition(const schema::Value& request, std::string_view type);
/// spec.request, parsed.
Result<net::SigningRequest> asked_by(const schema::Value& request);
std::set<std::string> usages_of(const schema::Value& request);

/// Why the signer of this name refuses the request; "" when it does not. nullptr: the name is no signer's of ours.
using SignerRule = std::string (*)(const net::SigningRequest& asked, const std::set<std::string>& usages);
SignerRule rule_of_signer(std::string_view signer_name);

inline constexpr std::string_view kKubeletClientSigner = "kubernetes.io/kube-apiserver-client-kubelet";

}  // namespace sublet::controllers
