// From a resolved context to a transport: the server's URL, TLS, and a path prefix when the URL has one.
#include <charconv>
#include <optional>

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

std::optional<int> to_port(std::string_view text) {
  int port = 0;
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, port);
  if (error != std::errc() || end != last || port < 1 || port > 65535) return std::nullopt;
  return port;
}

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
  std::string_view authority = text.substr(0, slash);
  std::string_view port;
  if (authority.starts_with('[')) {  // IPv6
    const auto close = authority.find(']');
    if (close == std::string_view::npos) return std::nullopt;
    out.host = authority.substr(1, close - 1);
    port = authority.substr(close + 1);
  } else {
    const auto colon = std::min(authority.find(':'), authority.size());
    out.host = authority.substr(0, colon);
    port = authority.substr(colon);
  }
  out.port = out.tls ? 443 : 80;
  if (!port.empty()) {
    const auto number = port.front() == ':' ? to_port(port.substr(1)) : std::nullopt;
    if (!number) return std::nullopt;
    out.port = *number;
  }
  return out.host.empty() ? std::nullopt : std::optional(out);
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
