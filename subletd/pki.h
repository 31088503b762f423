// Pki: the keys and certificates of one API server, made at its first start and kept in its data folder.
//
// Files: ca.crt, ca.key, apiserver.crt/.key, admin.crt/.key, sa.key, and one pair each that load_or_make_client() was
// asked for. The CA and the service-account key stay for ever, unless somebody renames sa.key to sa-ANYTHING.key: then
// a new one is made at the next start, and tokens of the old one are good as long as that file is there. The two leaf
// certificates are made anew when they end soon or when the server's names changed.
#pragma once

#include <string>
#include <vector>

#include "sublet/base/clock.h"
#include "sublet/net/tls_context.h"

namespace sublet::subletd {

struct Pki {
  net::KeyPair ca, server, admin;
  std::string service_account_key_pem;
  std::vector<std::string> old_service_account_keys_pem;
};

/// A client's certificate for `user`, kept as NAME.crt and NAME.key.
Result<net::KeyPair> load_or_make_client(const std::string& folder, const std::string& name, const std::string& user,
                                         const net::KeyPair& ca, Clock& clock);
/// `names`: DNS names and addresses that the server's certificate must cover.
Result<Pki> load_or_make_pki(const std::string& folder, const std::vector<std::string>& names, Clock& clock);

}  // namespace sublet::subletd
