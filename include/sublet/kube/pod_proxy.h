// PodProxy: what of a request to a pod's own HTTP server (pods/NAME/proxy, services/NAME/proxy) crosses the proxies on
// its way, and of the answer. Pure.
//
// A proxy speaks HTTP to both sides, so what is between a client and the next server ends there: hop-by-hop headers,
// and every credential, also those that would make the proxy's own request another's (Impersonate-, X-Remote-). Links
// in the answer that begin with where the last proxy has the pod are given the place where the client has it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sublet/kube/pod_connect.h"
#include "sublet/net/http.h"

namespace sublet::kube {

inline constexpr std::string_view kProxySubresource = "proxy";

/// What PodConnections are given when the subresource is kProxySubresource, and then only: who keeps the request keeps
/// a PodProxyRequest. Its method and query are the client's, its headers proxied_request_headers(); the implementation
/// answers what the pod says, with links below `prefix`.
struct PodProxyRequest : PodConnectRequest {
  std::string scheme, port;  // "": http, and the first port that the pod has
  std::string path;          // clean_proxy_path()
  std::string prefix;        // what the client calls the pod's "/"
  std::string body;
};
/// Null: the request is none to a pod's server.
const PodProxyRequest* as_proxy(const PodConnectRequest& request);

/// "web", "web:8080", "https:web:8443": what stands before /proxy.
struct ProxyName {
  std::string scheme, name, port;
  std::string text() const;
};
/// nullopt: another scheme, no name, or more colons.
std::optional<ProxyName> parse_proxy_name(std::string_view text);

/// Decoded, without "." and ".." and empty segments, encoded again; begins with "/", and ends with it when it did.
std::string clean_proxy_path(std::string_view path);
/// It may stand in a request's first line: a path that clean_proxy_path() leaves as it is, and a query without blanks
/// or control characters.
bool is_proxy_target(std::string_view path, std::string_view query);

/// Connection and Upgrade only when the client asks for another protocol, and `may_upgrade`.
net::Headers proxied_request_headers(const net::Headers& sent, bool may_upgrade);
/// `upgraded`: of a 101.
net::Headers proxied_answer_headers(const net::Headers& said, bool upgraded);

/// Replaces a text in a stream of pieces.
class LinkRewriter {
 public:
  LinkRewriter() = default;  // changes nothing
  LinkRewriter(std::string from, std::string to) : from_(std::move(from)), to_(std::move(to)) {}
  /// What is known of the output so far; the beginning of a link may wait for the next piece.
  std::string put(std::string_view piece);
  std::string end();

 private:
  std::string from_, to_, held_;
};

}  // namespace sublet::kube
