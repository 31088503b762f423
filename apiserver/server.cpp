#include "sublet/apiserver/server.h"

#include "apiserver/core.h"
#include "apiserver/filters/pipeline.h"
#include "apiserver/system_objects.h"

namespace sublet::apiserver {
struct Server::Impl {
  Impl(store::Store& store, net::Loop& loop, ServerOptions options, Clock& clock, Random& random)
      : core(std::make_shared<ServerCore>(store, loop, std::move(options), clock, random)) {}

  std::shared_ptr<ServerCore> core;
};

Server::Server(store::Store& store, net::Loop& loop, ServerOptions options, Clock& clock, Random& random)
    : impl_(std::make_unique<Impl>(store, loop, std::move(options), clock, random)) {}

Server::~Server() { stop(); }

Outcome Server::start() {
  if (auto created = create_system_objects(impl_->core); !created) return created;
  impl_->core->ready = true;
  return {};
}

net::Handler Server::handler() {
  return [core = impl_->core](net::Request request, std::shared_ptr<net::ResponseSink> sink) {
    handle_request(core, std::move(request), std::move(sink));
  };
}

void Server::stop() {
  impl_->core->stopping = true;
  impl_->core->watches.finish_all();
}

}  // namespace sublet::apiserver
