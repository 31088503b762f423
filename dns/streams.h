// Streams: the clients that come by TCP: messages with their length before them, several on a connection, answered as
// answers come. Bounded in number, of each client and of all, and in what waits unread; idle ones are closed.
// Lifecycle: the destructor closes all. Threads: the loop's.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "dns/endpoint.h"
#include "sublet/dns/name_server.h"
#include "sublet/net/loop.h"

namespace sublet::dns {

class Streams {
 public:
  /// Sends the answer to a message, at once or later, once; after the connection has gone it does nothing.
  using Reply = std::function<void(std::string)>;
  using Handler = std::function<void(const std::string& message, const Address& client, Reply reply)>;

  Streams(net::Loop& loop, const NameServerLimits& limits, Handler handler);
  ~Streams();
  void listen(Descriptor listener);
  std::size_t connections() const { return connections_.size(); }

 private:
  struct Connection {
    Descriptor fd;
    Address client;
    std::string in, out;
    int unanswered = 0;
    bool used = false;  // since the timer looked
    std::uint32_t watched = 0;
    net::Loop::TimerId timer = 0;
  };

  void accept(int listener);
  void on_ready(std::uint64_t id, std::uint32_t events);
  bool read(Connection& connection);
  void take_messages(std::uint64_t id);
  void reply(std::uint64_t id, const std::string& message);
  bool write(Connection& connection);
  void watch(Connection& connection);
  void look_for_idleness(std::uint64_t id);
  void close(std::uint64_t id);

  net::Loop& loop_;
  const NameServerLimits& limits_;
  const Handler handler_;
  std::vector<Descriptor> listeners_;
  std::unordered_map<std::uint64_t, Connection> connections_;
  std::map<Address, int> of_clients_;
  std::uint64_t last_id_ = 0;
  std::shared_ptr<Streams*> self_;  // what replies hold; null once this is gone
};

}  // namespace sublet::dns
