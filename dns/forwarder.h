// Forwarder: questions to the host's resolvers, one after the other until one answers.
//
// Each question has a socket of its own (a port that the kernel chose), connected to the resolver, and a random id; an
// answer counts when it comes from there with that id and that question. UDP, and TCP when the client came by TCP.
// Lifecycle: what is asked when it is destroyed is never answered. Threads: the loop's.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "dns/endpoint.h"
#include "sublet/base/random.h"
#include "sublet/dns/name_server.h"
#include "sublet/net/loop.h"

namespace sublet::dns {

class Forwarder {
 public:
  /// The upstream's whole message, with its own id; "": none answered.
  using Done = std::function<void(const std::string& message)>;

  Forwarder(net::Loop& loop, std::vector<Endpoint> upstreams, const NameServerLimits& limits, Random& random);
  ~Forwarder();

  /// False: too many wait already, of this client or of all; `done` will not be called. `other_name`: ask for that one
  /// in the query's type.
  bool ask(const Query& query, const std::string& other_name, const Address& client, bool by_tcp, Done done);
  std::size_t waiting() const { return asked_.size(); }

 private:
  struct Asked;
  using Place = std::list<std::unique_ptr<Asked>>::iterator;

  void try_next(Asked& asked);
  bool send(Asked& asked);
  void on_ready(Asked& asked, std::uint32_t events);
  void read_datagrams(Asked& asked);
  void read_stream(Asked& asked);
  void write_stream(Asked& asked);
  void take(Asked& asked, std::string message);
  void close_socket(Asked& asked);
  void finish(Asked& asked, const std::string& message);

  net::Loop& loop_;
  const std::vector<Endpoint> upstreams_;
  const NameServerLimits& limits_;
  Random& random_;
  std::list<std::unique_ptr<Asked>> asked_;
  std::map<Address, int> of_clients_;
};

}  // namespace sublet::dns
