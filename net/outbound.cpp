#include "sublet/net/outbound.h"

#include <sys/socket.h>

#include <algorithm>
#include <utility>

#include "sublet/net/http_client.h"
#include "sublet/net/tls_context.h"

namespace sublet::net {
namespace {

/// One call: collects its answer. The caller holds it, and so does the transport while it runs.
class Collected final : public ResponseObserver {
 public:
  Collected(std::size_t bytes_max, OutboundClient::Done done) : bytes_max_(bytes_max), done_(std::move(done)) {}

  void on_head(int code, const Headers& headers) override {
    answer_.code = code;
    answer_.headers = headers;
  }
  void on_body(std::string_view chunk) override {
    if (too_large_) return;
    too_large_ = answer_.body.size() + chunk.size() > bytes_max_;
    if (!too_large_)
      answer_.body += chunk;
    else
      std::string().swap(answer_.body);
  }
  void on_end(Outcome outcome) override {
    const auto done = std::exchange(done_, nullptr);
    if (!done) return;
    if (!outcome) return done(fail(outcome.error()));
    if (too_large_)
      return done(
          fail(Reason::request_entity_too_large, "the answer is larger than " + std::to_string(bytes_max_) + " bytes"));
    done(std::move(answer_));
  }

 private:
  const std::size_t bytes_max_;
  OutboundClient::Done done_;
  Response answer_;
  bool too_large_ = false;
};

}  // namespace

OutboundClient::OutboundClient(Loop& loop, AddressRules rules)
    : loop_(loop), rules_(std::make_shared<const AddressRules>(std::move(rules))) {}

OutboundClient::~OutboundClient() = default;

Result<std::shared_ptr<Transport>> OutboundClient::transport_to(const OutboundPeer& peer) {
  const MutexLock lock(mutex_);
  const auto found = std::find_if(known_.begin(), known_.end(), [&](const Known& known) { return known.peer == peer; });
  if (found != known_.end()) {
    known_.splice(known_.begin(), known_, found);
    return found->transport;
  }
  TlsClientConfig tls;
  tls.ca_pem = peer.ca_pem;
  tls.server_name = peer.server_name;
  tls.certificate_pem = peer.certificate_pem;
  tls.key_pem = peer.key_pem;
  tls.insecure_skip_verify = peer.any_certificate;
  auto context = TlsContext::client(tls);
  if (!context) return fail(context.error());
  HttpClientOptions options;
  options.idle_connections_max = 4;
  options.may_connect = [rules = rules_](const sockaddr& address) { return rules->refusal(address); };
  known_.push_front({peer, make_http_client(loop_, {peer.host, peer.port, {}, std::move(*context)}, options)});
  if (known_.size() > kPeersMax) known_.pop_back();  // calls under way end as they would
  return known_.front().transport;
}

OutboundClient::Call OutboundClient::call(const OutboundPeer& peer, OutboundRequest request, Done done) {
  auto transport = transport_to(peer);
  if (!transport) {
    // Comes on the loop like any other end, unless the caller has gone.
    auto waited_for = std::make_shared<Done>(std::move(done));
    loop_.post([weak = std::weak_ptr(waited_for), status = transport.error()] {
      if (const auto heard = weak.lock()) (*heard)(fail(status));
    });
    return waited_for;
  }
  // A peer that reads slowly or never ends its answer is held to the same limit.
  const auto observer = std::make_shared<Collected>(request.answer_bytes_max, std::move(done));
  return (*transport)->start(std::move(request.request), observer, request.timeout);
}

}  // namespace sublet::net
