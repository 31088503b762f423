#include "sublet/apiserver/server.h"

#include "apiserver/admission/admission_hooks.h"
#include "apiserver/admission/call_out.h"
#include "apiserver/aggregation/aggregated_apis.h"
#include "apiserver/aggregation/availability.h"
#include "apiserver/authz/standing_rights.h"
#include "apiserver/crd/keeper.h"
#include "apiserver/endpoints/host_descriptions.h"
#include "apiserver/filters/pipeline.h"
#include "apiserver/flowcontrol/flow_control.h"
#include "apiserver/stored_release.h"
#include "apiserver/system_objects.h"
#include "apiserver/watch/watch_hub.h"

namespace sublet::apiserver {
namespace {

std::set<std::string, std::less<>> component_users(const ServerOptions& options) {
  std::set<std::string, std::less<>> users = {options.unix_socket_user};
  for (const auto& rights : options.component_rights) users.insert(rights.user);
  return users;
}

// The core and the parts that it knows by name only, in one allocation that lives as long as the core.
struct ServerParts {
  ServerParts(store::Store& store, net::Loop& loop, ServerOptions options, Clock& clock, Random& random)
      : watches(loop, store),
        call_outs(loop),
        hooks(store, loop, options.outbound),
        authorizer(store, options.component_rights),
        standing_rights(loop, authorizer),
        flow_control(store, clock, options.seats, component_users(options)),
        aggregated(store, options.metrics != nullptr),
        host_descriptions(options.host_openapi, clock),
        core(store, loop, std::move(options), clock, random, watches, call_outs, hooks, authorizer, standing_rights,
             flow_control, aggregated, host_descriptions) {}

  WatchHub watches;
  CallOuts call_outs;
  AdmissionHooks hooks;
  Authorizer authorizer;
  StandingRights standing_rights;
  FlowControl flow_control;
  AggregatedApis aggregated;
  HostDescriptions host_descriptions;
  ServerCore core;
};

}  // namespace

struct Server::Impl {
  std::shared_ptr<ServerCore> core;
  std::unique_ptr<DefinitionKeeper> definitions;
};

Server::Server(store::Store& store, net::Loop& loop, ServerOptions options, Clock& clock, Random& random)
    : impl_(std::make_unique<Impl>()) {
  auto parts = std::make_shared<ServerParts>(store, loop, std::move(options), clock, random);
  impl_->core = std::shared_ptr<ServerCore>(parts, &parts->core);
  impl_->definitions = std::make_unique<DefinitionKeeper>(*impl_->core, handler());
}

Server::~Server() { stop(); }

Outcome Server::start() {
  if (auto accepted = accept_stored_release(impl_->core->store, *impl_->core->kinds.get()); !accepted) return accepted;
  if (auto created = create_system_objects(impl_->core); !created) return created;
  if (auto started = impl_->definitions->start(); !started) return started;
  impl_->core->ready = true;
  return {};
}

net::Handler Server::handler() {
  return [core = impl_->core](net::Request request, std::shared_ptr<net::ResponseSink> sink) {
    handle_request(core, std::move(request), std::move(sink));
  };
}

std::shared_ptr<const schema::Registry> Server::kinds() const { return impl_->core->kinds.get(); }

void Server::install_kinds(std::shared_ptr<const schema::Registry> kinds) { impl_->core->kinds.set(std::move(kinds)); }

ApiServiceCheck Server::check_api_service() {
  return [core = impl_->core](const std::string& name, std::function<void(ApiAvailability)> done) {
    return apiserver::check_api_service(core, name, std::move(done));
  };
}

void Server::stop() {
  impl_->core->stopping = true;
  impl_->definitions->stop();
  impl_->core->flow_control.stop();
  impl_->core->aggregated.stop();
  impl_->core->host_descriptions.stop();
  impl_->core->watches.finish_all();
  impl_->core->call_outs.stop();
  impl_->core->slow_writes.workers.stop();
  impl_->core->conversions.workers.stop();
  impl_->core->hooks.stop();
  impl_->core->authorizer.stop();
  impl_->core->large_writes.stop();
  impl_->core->large_answers.stop();
}

}  // namespace sublet::apiserver
