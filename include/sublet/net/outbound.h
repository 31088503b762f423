// OutboundClient: HTTPS requests to where somebody else says, guarded: the one way out for a tenant's word.
//
// Only addresses that the AddressRules allow are connected to, looked at after the name was resolved and for every
// connection. A request has a deadline and its answer a size; redirects are not followed; connections are kept and used
// again. Nothing blocks: a peer that hangs holds a connection until the deadline and nobody else's request.
// Lifecycle: the loop must outlive the client and the calls. Threads: any; `done` comes on the loop's thread, once,
// unless the call was dropped before.
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

/// Who is asked. Requests to an equal peer share connections.
struct OutboundPeer {
  std::string host;  // name or address to connect to
  int port = 443;
  std::string server_name;                   // sent, and verified in the certificate; empty: the host
  std::string ca_pem;                        // empty: the system's roots
  std::string certificate_pem{}, key_pem{};  // shown to the peer; empty: none
  bool any_certificate = false;              // whatever the peer shows is good
  bool operator==(const OutboundPeer&) const = default;
};

struct OutboundRequest {
  Request request;
  std::chrono::milliseconds timeout{10'000};
  std::size_t answer_bytes_max = 8u << 20;
};

class OutboundClient {
 public:
  /// Dropping it cancels the call; not from within `done`.
  using Call = std::shared_ptr<void>;
  /// An error is about the way there and back (timeout, service_unavailable, request_entity_too_large), never an HTTP
  /// code.
  using Done = std::function<void(Result<Response>)>;

  OutboundClient(Loop& loop, AddressRules rules);
  ~OutboundClient();
  OutboundClient(const OutboundClient&) = delete;
  OutboundClient& operator=(const OutboundClient&) = delete;

  [[nodiscard]] Call call(const OutboundPeer& peer, OutboundRequest request, Done done);
  /// For an answer that is heard as it comes: the same guard, and what else the caller sets.
  Result<std::shared_ptr<Transport>> transport_to(const OutboundPeer& peer);

  static constexpr std::size_t kPeersMax = 64;  // whose connections are kept; the least used goes

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
