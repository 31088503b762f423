// Pki: the keys and certificates of one API server, made at its first start and kept in its data folder.
//
// Files: ca.crt, ca.key, apiserver.crt/.key, admin.crt/.key, front-proxy-ca.crt/.key, front-proxy.crt/.key, sa.key,
// administrators, and one pair each that load_or_make_client() was asked for. The front proxy has a CA of its own,
// which grants no access here: the holder of its certificate names users to other servers. The CA and the
// service-account key stay for ever, unless somebody renames sa.key to sa-ANYTHING.key: then a new one is made at the
// next start, and tokens of the old one are good as long as that file is there. The two leaf certificates (90 and 30
// days) are renewed in the last third of their life, when the server's names changed, or when they are missing.
//
// `administrators` has a line "DIGEST END" for each administrator's certificate that was made and has not ended. One
// that is not in it is refused, whichever CA signed it: removing the file (cluster::forget_certificates()) revokes all
// but the one that is made next.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sublet/base/clock.h"
#include "sublet/net/tls_context.h"

namespace sublet::subletd {

/// Members of this group may do everything.
inline constexpr std::string_view kAdministrators = "system:masters";

struct Pki {
  net::KeyPair ca, server, admin;
  std::optional<net::KeyPair> controllers;  // upstream's kube-controller-manager's, an administrator of its own
  std::string front_proxy_ca_pem;
  net::KeyPair front_proxy;                 // shows API servers of the tenant's own whose requests it brings
  std::vector<std::string> administrators;  // net::PeerIdentity::sha256 of those that count
  std::string service_account_key_pem;
  std::vector<std::string> old_service_account_keys_pem;
};

/// A client's certificate for `user`, kept as NAME.crt and NAME.key; another in the last third of its life.
Result<net::KeyPair> load_or_make_client(const std::string& folder, const std::string& name, const std::string& user,
                                         const net::KeyPair& ca, Clock& clock);
struct PkiRequest {
  std::string folder;
  std::vector<std::string> names;  // DNS names and addresses that the server's certificate must cover
  bool controllers = false;        // whether Pki::controllers is wanted
};
Result<Pki> load_or_make_pki(const PkiRequest& request, Clock& clock);

}  // namespace sublet::subletd
