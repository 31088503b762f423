// ServedCertificates: the certificates of an API server that runs: what it shows, and which administrators it takes.
// They are read again while it runs (renewals, `sublet certs rotate`).
//
// Lifecycle: open() loads or makes what the folder has. Threads: reread() from one at a time, the rest from any.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sublet/base/clock.h"
#include "sublet/base/mutex.h"
#include "sublet/net/http.h"
#include "sublet/net/tls_context.h"
#include "subletd/pki.h"

namespace sublet::subletd {

class ServedCertificates {
 public:
  static Result<std::unique_ptr<ServedCertificates>> open(PkiRequest request, Clock& clock);

  Pki pki() const;
  /// An administrator's certificate that does not count any more. Everybody else's rights are RBAC's.
  bool refuses(const net::PeerIdentity& peer) const;
  Result<std::shared_ptr<net::TlsContext>> tls() const;

  struct Changes {
    bool server = false, admin = false;
    bool revoked = false;  // who was taken before is not any more
  };
  /// Renews certificates that expire soon, and makes those that are missing. On errors nothing changes.
  Result<Changes> reread();

 private:
  ServedCertificates(PkiRequest request, Clock& clock, Pki pki)
      : request_(std::move(request)), clock_(clock), pki_(std::move(pki)) {}

  const PkiRequest request_;
  Clock& clock_;
  mutable Mutex mutex_;
  Pki pki_ SUBLET_GUARDED_BY(mutex_);
};

}  // namespace sublet::subletd
