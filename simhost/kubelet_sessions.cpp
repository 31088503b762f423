// Sessions in simulated containers: who is meant, and what it is connected to.
#include <algorithm>

#include "simhost/kubelet.h"
#include "simhost/session/port_forward.h"
#include "sublet/base/status_json.h"

namespace sublet::simhost {
namespace {

struct Asked {
  std::string container;
  shell::Words command;
  session::WantedChannels wanted;
};

Asked read_query(const std::string& query) {
  Asked out;
  const auto yes = [](const std::string& value) { return value == "true" || value == "1"; };
  for (auto& [key, value] : net::parse_query(query)) {
    if (key == "container") out.container = value;
    if (key == "command") out.command.push_back(value);
    if (key == "stdin") out.wanted.input = yes(value);
    if (key == "stdout") out.wanted.output = yes(value);
    if (key == "stderr") out.wanted.errors = yes(value);
    if (key == "tty") out.wanted.tty = yes(value);
  }
  return out;
}

}  // namespace

Result<session::Protocol> Kubelet::check_session(const kube::PodConnectRequest& request, PodRun*& run,
                                                 ContainerRun*& container) {
  const auto found = runs_.find(request.pod_uid);
  if (found == runs_.end()) return fail(not_found_status("", "pods", request.pod_name));
  run = found->second.get();
  if (request.subresource == "portforward") {
    if (run->phase != "Running")
      return fail(Reason::internal_error,
                  "unable to forward port because pod is not running. Current status=" + run->phase);
    return session::negotiate(request);
  }
  const Asked asked = read_query(request.query);
  if (!asked.wanted.input && !asked.wanted.output && !asked.wanted.errors)
    return bad_request("you must specify at least 1 of stdin, stdout, stderr");
  if (request.subresource == "exec" && asked.command.empty())
    return bad_request("you must specify at least one argument for the command");
  container = run->find(asked.container);
  if (!container || container->state != ContainerRun::State::running)
    return fail(Reason::internal_error,
                "unable to upgrade connection: container not found (\"" + asked.container + "\")");
  return session::negotiate(request);
}

std::shared_ptr<session::Session> Kubelet::begin_session(const kube::PodConnectRequest& request,
                                                         session::Protocol::Kind protocol, const PodRun& run,
                                                         const ContainerRun& container,
                                                         std::shared_ptr<session::Out> out) {
  const Asked asked = read_query(request.query);
  const session::SessionSetting setting{loop_, clock_, protocol, asked.wanted};
  std::shared_ptr<session::ContainerSession> made;
  if (request.subresource == "exec") {
    shell::World world = container.world ? *container.world : shell::World();
    world.random = &random_;
    if (world.hostname.empty()) world.hostname = run.name;
    made = session::make_exec(setting, asked.command, std::move(world), std::move(out));
  } else {
    session::Play program;
    for (const shell::Line& line : container.program.lines)
      program.lines.push_back({container.started + line.at, line.text});
    made = session::make_attach(setting, std::move(program), std::move(out));
  }
  std::erase_if(sessions_, [](const OpenSession& open) { return open.session.expired(); });
  sessions_.push_back({run.uid, container.name, made});
  return made;
}

void Kubelet::connect(const kube::PodConnectRequest& request, const std::shared_ptr<net::ResponseSink>& sink) {
  PodRun* run = nullptr;
  ContainerRun* container = nullptr;
  const auto protocol = check_session(request, run, container);
  if (!protocol)
    return sink->respond(protocol.error().http_code(), {{"Content-Type", "application/json"}},
                         status_json(protocol.error()));
  session::accept(loop_, *protocol, sink,
                  [weak = weak_from_this(), request,
                   kind = protocol->kind](std::shared_ptr<session::Out> out) -> std::shared_ptr<session::Session> {
                    if (request.subresource == "portforward")
                      return session::make_port_forward(kind, request.namespace_name + "/" + request.pod_name,
                                                        std::move(out));
                    const auto self = weak.lock();
                    PodRun* again = nullptr;
                    ContainerRun* in = nullptr;
                    // It may have gone while the answer went out.
                    if (!self || !self->check_session(request, again, in)) return nullptr;
                    return self->begin_session(request, kind, *again, *in, std::move(out));
                  });
}

void Kubelet::end_sessions(const std::string& uid, std::string_view container, int exit_code) {
  const auto open = sessions_;
  for (const OpenSession& one : open)
    if (const auto session = one.session.lock();
        session && one.uid == uid && (container.empty() || one.container == container))
      session->stop(exit_code);
}

}  // namespace sublet::simhost
