// Side: one API server, the real one, over a store in memory, without a thread: its loop turns when it is told to, and
// its store commits inside submit().
//
// call() and client() come back with the answer; what a commit brings to running watches has reached their observers by
// then. The loop's own timers are in real time (none of them is due within a run: the server's shortest, but for what
// only custom resources and webhooks use, is a watch's first bookmark after a minute).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "sublet/apiserver/server.h"
#include "sublet/base/random.h"
#include "sublet/kube/client.h"
#include "sublet/net/loop.h"
#include "sublet/schema/document.h"

namespace sublet::simulation {

class Side {
 public:
  Side(std::string name, Clock& clock, std::uint64_t seed, apiserver::ServerOptions options, net::PeerIdentity syncer);
  ~Side();

  const std::string& name() const { return name_; }
  store::Store& store() { return *store_; }
  store::Revision revision() const { return store_->snapshot().revision(); }
  /// Who plays people, schedulers and kubelets; a member of system:masters.
  const kube::Client& client() const { return *client_; }

  /// As the syncer, at once.
  Result<net::Response> call(net::Request request);
  /// The same of what has no end.
  std::unique_ptr<net::Exchange> open(net::Request request, std::shared_ptr<net::ResponseObserver> observer);
  /// Lets the loop do what it has to do.
  void turn();

  /// Objects as they are, of a key prefix ("pods/").
  void each(std::string_view prefix,
            const std::function<void(const store::Object&, const schema::Document&)>& visit) const;
  schema::Document get(std::string_view resource, std::string_view namespace_name, std::string_view name) const;

 private:
  class Pumped;
  Result<net::Response> await(net::Transport& transport, net::Request request);

  const std::string name_;
  net::Loop loop_;
  SeededRandom random_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<apiserver::Server> server_;
  std::unique_ptr<net::Transport> as_syncer_;
  std::unique_ptr<kube::Client> client_;
};

net::PeerIdentity member(std::string name, std::vector<std::string> groups = {});

}  // namespace sublet::simulation
