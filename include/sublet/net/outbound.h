// OutboundClient: guarded HTTPS requests to targets that a tenant names.
//
// It connects only to addresses that the AddressRules allow, checked for every connection after the name was resolved.
// A request has a deadline and its answer a maximum size. It follows no redirects and reuses connections. Nothing
// blocks: a peer that hangs holds one connection until the deadline and delays no other request. Lifecycle: the loop
// must outlive the client and the calls. Threads: any; `done` comes on the loop's thread, once, unless the call was
// dropped before.
#pragma once

#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <string>

#include "sublet/base/mutex.h"
#include "sublet/net/address_rules.h"
#include "sublet/net/http.h"
#include "sublet/net/loop.h"

namespace sublet::net {

/// The target of a request. Requests to equal peers share connections.
struct OutboundPeer {
  std::string host;  // name or address to connect to
  int port = 443;
  std::string server_name;                   // sent, and verified in the certificate; empty: the host
  std::string ca_pem;                        // empty: the system's roots
  std::string certificate_pem{}, key_pem{};  // shown to the peer; empty: none
  bool any_certificate = false;              // accept every certificate of the peer
  bool operator==(const OutboundPeer&) const = default;
};

struct OutboundRequest {
  Request request;
  std::chrono::milliseconds timeout{10'000};
  std::size_t answer_bytes_max = 8u << 20;
};

class OutboundClient {
 public:
  /// Destroying it cancels the call. Do not destroy it within `done`.
  using Call = std::shared_ptr<void>;
  /// An error is one of the transport (timeout, service_unavailable, request_entity_too_large), never an HTTP code.
  using Done = std::function<void(Result<Response>)>;

  OutboundClient(Loop& loop, AddressRules rules);
  ~OutboundClient();
  OutboundClient(const OutboundClient&) = delete;
  OutboundClient& operator=(const OutboundClient&) = delete;

  [[nodiscard]] Call call(const OutboundPeer& peer, OutboundRequest request, Done done);
  /// Returns a transport with the same guard, for answers that are read as they come.
  Result<std::shared_ptr<Transport>> transport_to(const OutboundPeer& peer);

  static constexpr std::size_t kPeersMax = 64;  // with open connections; the least recently used is closed

 private:
  struct Known {
    OutboundPeer peer;
    std::shared_ptr<Transport> transport;
  };

  Loop& loop_;
  const std::shared_ptr<const AddressRules> rules_;
  Mutex mutex_;
  std::list<Known> known_ SUBLET_GUARDED_BY(mutex_);  // last used first
};

}  // namespace sublet::net
