// From a resolved context to a transport: the server's URL, TLS, and a path prefix when the URL has one.
#include <algorithm>
#include <optional>

#include "sublet/base/host_port.h"
#include "sublet/kube/kubeconfig.h"
#include "sublet/net/http_client.h"

namespace sublet::kube {
namespace {

struct Url {
  bool tls = true;
  std::string host;
  int port = 443;
  std::string unix_path;
  std::string prefix;  // "/k8s/clusters/c-1" without a slash at the end, or empty
};

std::optional<Url> parse_url(std::string_view text) {
  Url out;
  if (text.starts_with("unix://")) {
    out.tls = false;
    out.unix_path = text.substr(7);
    return out.unix_path.empty() ? std::nullopt : std::optional(out);
  }
  out.tls = !text.starts_with("http://");
  if (const auto scheme = text.find("://"); scheme != std::string_view::npos) {
    if (out.tls && text.substr(0, scheme) != "https") return std::nullopt;
    text.remove_prefix(scheme + 3);
  }
  const auto slash = std::min(text.find('/'), text.size());
  out.prefix = text.substr(slash);
  while (!out.prefix.empty() && out.prefix.back() == '/') out.prefix.pop_back();
  const HostPort parts = split_host_port(text.substr(0, slash));
  const bool is_clear = parts.is_bracketed
                            ? parts.host.find(']') == std::string_view::npos
                            : parts.host.find(':') == std::string_view::npos && !parts.host.starts_with('[');
  out.host = parts.host;
  out.port = out.tls ? 443 : 80;
  if (parts.port) out.port = parse_port(*parts.port).value_or(0);
  return is_clear && !out.host.empty() && out.port != 0 ? std::optional(out) : std::nullopt;
}

/// Puts a path in front of every target: API servers behind gateways.
class PrefixTransport final : public net::Transport {
 public:
  PrefixTransport(std::shared_ptr<net::Transport> inner, std::string prefix)
      : inner_(std::move(inner)), prefix_(std::move(prefix)) {}
  std::unique_ptr<net::Exchange> start(net::Request request, std::shared_ptr<net::ResponseObserver> observer,
                                       std::chrono::milliseconds timeout) override {
    request.target.insert(0, prefix_);
    return inner_->start(std::move(request), std::move(observer), timeout);
  }

 private:
  const std::shared_ptr<net::Transport> inner_;
  const std::string prefix_;
};

}  // namespace

Result<std::shared_ptr<net::Transport>> connect(net::Loop& loop, const ClusterAccess& access,
                                                const net::HttpClientOptions& options) {
  const auto url = parse_url(access.server);
  if (!url)
    return bad_request("cluster \"" + access.cluster_name + "\": server \"" + access.server +
                       "\" is no URL of the form https://host:port");
  net::Endpoint endpoint;
  endpoint.host = url->host;
  endpoint.port = url->port;
  endpoint.unix_path = url->unix_path;
  if (url->tls) {
    net::TlsClientConfig tls;
    tls.ca_pem = access.ca_pem;
    tls.certificate_pem = access.client_certificate_pem;
    tls.key_pem = access.client_key_pem;
    tls.server_name = access.tls_server_name;
    tls.insecure_skip_verify = access.insecure_skip_tls_verify;
    auto context = net::TlsContext::client(tls);
    if (!context) return fail(context.error());
    endpoint.tls = std::move(*context);
  }
  auto transport = net::make_http_client(loop, std::move(endpoint), options);
  if (url->prefix.empty()) return transport;
  return std::make_shared<PrefixTransport>(std::move(transport), url->prefix);
}

}  // namespace sublet::kube
