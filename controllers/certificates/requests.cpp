#include "controllers/certificates/requests.h"

#include "sublet/schema/engine.h"

namespace sublet::controllers {
namespace {

using net::SigningRequest;
using Usages = std::set<std::string>;

/// As Go prints a list of strings.
std::string list_text(const Usages& words) {
  std::string text = "[";
  for (const auto& word : words) text.append(text.size() > 1 ? " " : "").append(word);
  return text + "]";
}

bool is_of_nodes(const SigningRequest& asked) {
  return asked.organizations == std::vector<std::string>{"system:nodes"};
}
constexpr std::string_view kNotOfNodes = "subject organization is not system:nodes";
constexpr std::string_view kNotNode = "subject common name does not begin with system:node:";

/// The usages are those, or those without "key encipherment", which only RSA needs.
std::string check_exact(const Usages& usages, const std::string& purpose) {
  const Usages all{"digital signature", "key encipherment", purpose}, other{"digital signature", purpose};
  return usages == all || usages == other ? "" : "usages did not match " + list_text(all);
}

std::string check_kubelet_client(const SigningRequest& asked, const Usages& usages) {
  if (!is_of_nodes(asked)) return std::string(kNotOfNodes);
  if (!asked.dns_names.empty()) return "DNS subjectAltNames are not allowed";
  if (asked.email_addresses > 0) return "Email subjectAltNames are not allowed";
  if (asked.ip_addresses > 0) return "IP subjectAltNames are not allowed";
  if (asked.uris > 0) return "URI subjectAltNames are not allowed";
  if (!asked.common_name.starts_with("system:node:")) return std::string(kNotNode);
  return check_exact(usages, "client auth");
}

std::string check_kubelet_serving(const SigningRequest& asked, const Usages& usages) {
  if (!is_of_nodes(asked)) return std::string(kNotOfNodes);
  if (asked.dns_names.empty() && asked.ip_addresses == 0) return "DNS or IP subjectAltName is required";
  if (asked.email_addresses > 0) return "Email subjectAltNames are not allowed";
  if (asked.uris > 0) return "URI subjectAltNames are not allowed";
  if (auto wrong = check_exact(usages, "server auth"); !wrong.empty()) return wrong;
  return asked.common_name.starts_with("system:node:") ? std::string() : std::string(kNotNode);
}

std::string check_client(const SigningRequest&, const Usages& usages) {
  for (const auto& usage : usages)
    if (usage != "digital signature" && usage != "key encipherment" && usage != "client auth")
      return "invalid usage for client certificate: " + usage;
  return usages.contains("client auth") ? "" : "missing required usage for client certificate: client auth";
}

struct Signer {
  std::string_view name;
  SignerRule rule;
};
// kubernetes.io/legacy-unknown, upstream's fourth, cannot be asked for through certificates.k8s.io/v1.
constexpr Signer kSigners[] = {{kKubeletClientSigner, check_kubelet_client},
                               {"kubernetes.io/kubelet-serving", check_kubelet_serving},
                               {"kubernetes.io/kube-apiserver-client", check_client}};

}  // namespace

bool has_condition(const schema::Value& request, std::string_view type) {
  for (auto condition : request["status"]["conditions"])
    if (condition["type"].text() == type) return condition["status"].text() == "True";
  return false;
}

Result<SigningRequest> asked_by(const schema::Value& request) {
  return net::read_signing_request(schema::base64_decode(request["spec"]["request"].text()).value_or(""));
}

Usages usages_of(const schema::Value& request) {
  Usages usages;
  for (auto usage : request["spec"]["usages"]) usages.insert(usage.string());
  return usages;
}

SignerRule rule_of_signer(std::string_view signer_name) {
  for (const auto& signer : kSigners)
    if (signer.name == signer_name) return signer.rule;
  return nullptr;
}

}  // namespace sublet::controllers
