// NameServer: the DNS server of one virtual cluster: its own zone (dns/zone.h), everything else from the host's
// resolver.
//
// Holds the names of one tenant and nothing else: it reads Services, EndpointSlices and Namespaces by the client that
// it is given, and until it has read them once it says so (SERVFAIL), so that nobody remembers that a name is not
// there. What belongs to the host is not asked for: `hidden` domains and reverse names of private networks have
// NXDOMAIN. UDP and TCP, EDNS 0; an answer that is too long for UDP is cut and marked, and comes whole by TCP. Floods:
// a client above its rate is not answered, and above `queries_per_second` nothing is read, so that a tenant's flood
// costs its own process a bounded part of a core and no other tenant anything; questions to the host's resolver have
// limits of their own. Lifecycle: listen() as often as there are addresses, then start(); the destructor ends it.
// Threads: all of it on the loop's thread, which must run until the destructor has returned; public calls from any
// other thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sublet/base/random.h"
#include "sublet/base/status.h"
#include "sublet/kube/client.h"
#include "sublet/net/loop.h"

namespace sublet::dns {

struct NameServerLimits {
  int queries_per_second = 20'000;                   // answered or not, of all clients
  int client_queries_per_second = 5'000;             // of one address; a burst of as many
  int client_forwards_per_second = 200;              // questions to the host's resolver
  int forwards_max = 512, client_forwards_max = 64;  // of these, unanswered at a time
  int connections_max = 256, client_connections_max = 16;
  std::chrono::milliseconds idle_timeout{10'000};    // of a connection
  std::chrono::milliseconds forward_timeout{1'500};  // of one try
};

/// What a resolver's configuration file says: resolv.conf(5).
struct Resolvers {
  std::vector<std::string> servers{};  // "ADDRESS:53", "[ADDRESS]:53"
  /// Where it is a pod's, its search list tells the host cluster's domain: that one.
  std::vector<std::string> cluster_domains{};
};
Resolvers parse_resolv_conf(std::string_view text);

struct NameServerOptions {
  std::string domain = "cluster.local";
  std::string own_address{};             // where clients ask it; empty: unknown
  std::vector<std::string> upstreams{};  // "ADDRESS:PORT"; none: nothing is forwarded
  std::vector<std::string> hidden{};     // domains that are the host's own
  NameServerLimits limits{};
  Random* random = &Random::system();
};

struct NameServerStats {
  std::uint64_t answered = 0, forwarded = 0, dropped = 0;
};

class NameServer {
 public:
  NameServer(net::Loop& loop, kube::Client tenant, NameServerOptions options);
  ~NameServer();

  /// UDP and TCP at "ADDRESS:PORT"; port 0 picks one. Gives the bound address. Of several networks at once (0.0.0.0) it
  /// cannot answer from where it was asked: refused.
  Result<std::string> listen(const std::string& address);
  void start();
  /// It knows the tenant's names.
  bool wait_ready(std::chrono::milliseconds timeout) const;
  NameServerStats stats() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sublet::dns
