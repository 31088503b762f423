#include "controllers/controlled_server_testing.h"
#include "sublet/net/openssl_ptr.h"
#include "sublet/schema/engine.h"

namespace sublet::controllers {
namespace {

using namespace std::chrono_literals;

/// A request for a name of an organization, with a DNS name when one is given; base64 of PEM.
std::string request_for(const char* organization, const char* name, const char* dns = nullptr) {
  const net::KeyPtr key(EVP_EC_gen("P-256"));
  const net::OpensslPtr<X509_REQ, X509_REQ_free> request(X509_REQ_new());
  X509_NAME* subject = X509_REQ_get_subject_name(request.get());
  const auto add = [&](const char* field, const char* text) {
    X509_NAME_add_entry_by_txt(subject, field, MBSTRING_UTF8, reinterpret_cast<const unsigned char*>(text), -1, -1, 0);
  };
  add("O", organization);
  add("CN", name);
  X509_REQ_set_pubkey(request.get(), key.get());
  if (dns) {
    STACK_OF(X509_EXTENSION)* extensions = sk_X509_EXTENSION_new_null();
    sk_X509_EXTENSION_push(extensions, X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, dns));
    X509_REQ_add_extensions(request.get(), extensions);
    sk_X509_EXTENSION_pop_free(extensions, X509_EXTENSION_free);
  }
  X509_REQ_sign(request.get(), key.get(), EVP_sha256());
  const net::BioPtr out(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509_REQ(out.get(), request.get());
  char* data = nullptr;
  const long size = BIO_get_mem_data(out.get(), &data);
  return schema::base64_encode({data, static_cast<std::size_t>(size)});
}

class CertificatesTest : public ControlledServer {
 protected:
  static inline const kube::Resource kRequests{"certificates.k8s.io", "v1", "certificatesigningrequests"};

  CertificatesTest() {
    clock_.advance(Clock::system().now() - clock_.now());  // the authority's certificate is of today
    net::CertificateRequest request;
    request.common_name = "virtual-ca";
    request.is_ca = true;
    request.lifetime = std::chrono::hours(24 * 3650);
    options_.authority = *net::make_certificate(request, nullptr, clock_.now());
    restart_controllers();
  }
  void ask(const std::string& name, const std::string& signer, const std::string& request, const std::string& usages,
           const std::string& more = "") {
    create(kRequests, "",
           R"({"metadata":{"name":")" + name + R"("},"spec":{"signerName":")" + signer + R"(","request":")" + request +
               R"(","usages":)" + usages + more + "}}");
  }
  void approve(const std::string& name) {
    auto request = client_.get(kRequests, "", name);
    ASSERT_TRUE(request);
    auto condition = request->root().object("status").array("conditions").push_object();
    condition.put("type", "Approved");
    condition.put("status", "True");
    condition.put("reason", "Test");
    ASSERT_TRUE(client_.update(kRequests, "", name, request->root(), "approval"));
    settle();
  }
  schema::Document request_named(const std::string& name) { return *client_.get(kRequests, "", name); }
  net::X509Ptr certificate_of(const std::string& name) {
    const auto pem = schema::base64_decode(request_named(name)["status"]["certificate"].text()).value_or("");
    return net::X509Ptr(PEM_read_bio_X509(net::pem_reader(pem).get(), nullptr, nullptr, nullptr));
  }
  std::string last_condition(const std::string& name) {
    const auto request = request_named(name);
    const auto conditions = request["status"]["conditions"];
    if (conditions.empty()) return "";
    const auto last = conditions.at(conditions.size() - 1);
    return last["type"].string() + " " + last["reason"].string() + ": " + last["message"].string();
  }
};
constexpr const char* kClient = R"(["digital signature","client auth"])";

TEST_F(CertificatesTest, AClientsRequestIsSignedOnceSomebodyApproves) {
  ask("user", "kubernetes.io/kube-apiserver-client", request_for("team", "jane"), kClient,
      R"(,"expirationSeconds":3600)");
  EXPECT_FALSE(certificate_of("user")) << "nobody has approved it";
  approve("user");
  const auto certificate = certificate_of("user");
  ASSERT_TRUE(certificate);
  const net::X509Ptr authority(
      PEM_read_bio_X509(net::pem_reader(options_.authority.certificate_pem).get(), nullptr, nullptr, nullptr));
  EXPECT_EQ(X509_verify(certificate.get(), X509_get0_pubkey(authority.get())), 1);
  const auto pem = schema::base64_decode(request_named("user")["status"]["certificate"].text());
  const auto left = *net::certificate_not_after(*pem) - clock_.now();
  EXPECT_LE(left, 1h);
  EXPECT_GT(left, 59min) << "what is short is not cut";
  ask("long", "kubernetes.io/kube-apiserver-client", request_for("team", "joe"), kClient,
      R"(,"expirationSeconds":31536000)");
  ask("unsaid", "kubernetes.io/kube-apiserver-client", request_for("team", "joe"), kClient);
  for (const char* name : {"long", "unsaid"}) {
    approve(name);
    const auto signed_pem = schema::base64_decode(request_named(name)["status"]["certificate"].text());
    const auto month = *net::certificate_not_after(*signed_pem) - clock_.now();
    EXPECT_LE(month, 24h * 30) << name << ": nobody can take it back";
    EXPECT_GT(month, 24h * 29) << name;
  }
  const auto before = store_->stats().revision;
  restart_controllers();
  EXPECT_EQ(store_->stats().revision, before);
}

TEST_F(CertificatesTest, WhatASignersRulesForbidFails) {
  ask("odd", "kubernetes.io/kube-apiserver-client", request_for("team", "jane"), R"(["server auth"])");
  approve("odd");
  EXPECT_EQ(last_condition("odd"), "Failed SignerValidationFailure: invalid usage for client certificate: server auth");
  ask("serving", "kubernetes.io/kubelet-serving", request_for("system:nodes", "system:node:n"),
      R"(["digital signature","server auth"])");
  approve("serving");
  EXPECT_EQ(last_condition("serving"), "Failed SignerValidationFailure: DNS or IP subjectAltName is required");
  ask("named", "kubernetes.io/kubelet-serving", request_for("system:nodes", "system:node:n", "DNS:n.example"),
      R"(["digital signature","server auth"])");
  approve("named");
  EXPECT_TRUE(certificate_of("named"));
  ask("theirs", "example.com/signer", request_for("team", "jane"), kClient);
  approve("theirs");
  EXPECT_FALSE(certificate_of("theirs")) << "somebody else's signer";
}

TEST_F(CertificatesTest, AKubeletsClientCertificateIsApprovedByItself) {
  ask("kubelet", "kubernetes.io/kube-apiserver-client-kubelet", request_for("system:nodes", "system:node:n"), kClient);
  EXPECT_EQ(request_named("kubelet")["status"]["conditions"].at(0)["reason"].text(), "AutoApproved");
  EXPECT_TRUE(certificate_of("kubelet"));
  ask("not-a-node", "kubernetes.io/kube-apiserver-client-kubelet", request_for("team", "system:node:n"), kClient);
  EXPECT_EQ(last_condition("not-a-node"), "");
  ask("person", "kubernetes.io/kube-apiserver-client", request_for("team", "jane"), kClient);
  EXPECT_EQ(last_condition("person"), "") << "people's are people's to approve";
}

}  // namespace
}  // namespace sublet::controllers
