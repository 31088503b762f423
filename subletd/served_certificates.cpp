#include "subletd/served_certificates.h"

#include <algorithm>

namespace sublet::subletd {
namespace {

bool has(const std::vector<std::string>& list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

}  // namespace

Result<std::unique_ptr<ServedCertificates>> ServedCertificates::open(PkiRequest request, Clock& clock) {
  auto pki = load_or_make_pki(request, clock);
  if (!pki) return fail(pki.error());
  return std::unique_ptr<ServedCertificates>(new ServedCertificates(std::move(request), clock, std::move(*pki)));
}

Pki ServedCertificates::pki() const {
  const MutexLock lock(mutex_);
  return pki_;
}

bool ServedCertificates::refuses(const net::PeerIdentity& peer) const {
  if (peer.kind != net::PeerIdentity::Kind::certificate || !has(peer.organizations, kAdministrators)) return false;
  const MutexLock lock(mutex_);
  return !has(pki_.administrators, peer.sha256);
}

Result<std::shared_ptr<net::TlsContext>> ServedCertificates::tls() const {
  const MutexLock lock(mutex_);
  net::TlsServerConfig tls;
  tls.certificate_pem = pki_.server.certificate_pem;
  tls.key_pem = pki_.server.key_pem;
  tls.client_ca_pem = pki_.ca.certificate_pem;
  return net::TlsContext::server(tls);
}

Result<ServedCertificates::Changes> ServedCertificates::reread() {
  auto read = load_or_make_pki(request_, clock_);
  if (!read) return fail(read.error());
  const MutexLock lock(mutex_);
  Changes changes;
  changes.server = read->server.certificate_pem != pki_.server.certificate_pem;
  changes.admin = read->admin.certificate_pem != pki_.admin.certificate_pem;
  changes.revoked = std::any_of(pki_.administrators.begin(), pki_.administrators.end(),
                                [&](const std::string& digest) { return !has(read->administrators, digest); });
  pki_ = std::move(*read);
  return changes;
}

}  // namespace sublet::subletd
