// Sessions in simulated containers: which container a request names, and what the client is connected to.
#include <algorithm>

#include "simhost/kubelet.h"
#include "simhost/session/port_forward.h"
#include "sublet/base/status_json.h"

namespace sublet::simhost {
namespace {

struct SessionQuery {
  std::string container;
  shell::Words command;
  session::WantedChannels wanted;
};

SessionQuery read_query(const std::string& query) {
  SessionQuery out;
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
  const SessionQuery asked = read_query(request.query);
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

session::MainProcessCalls Kubelet::main_process_calls(const PodRun& run, const ContainerRun& container,
                                                      bool stdin_once) {
  // The container's run that the session belongs to, if it is still the present one.
  const auto find = [weak = weak_from_this(), uid = run.uid, name = container.name,
                     started = container.started](auto use) {
    const auto self = weak.lock();
    const auto found = self ? self->runs_.find(uid) : decltype(self->runs_.find(uid))();
    if (!self || found == self->runs_.end()) return;
    ContainerRun* running = found->second->find(name);
    if (running && running->state == ContainerRun::State::running && running->started == started)
      use(*self, *found->second, *running);
  };
  session::MainProcessCalls out;
  out.ends_with_session = stdin_once;
  out.printed = [find](const session::Play::Piece& piece) {
    find([&](Kubelet& self, PodRun& in, ContainerRun& running) {
      const auto at = std::chrono::duration_cast<std::chrono::milliseconds>(piece.at - running.started);
      const bool newline = piece.bytes.ends_with('\n');
      running.program.lines.push_back(
          {at, piece.bytes.substr(0, piece.bytes.size() - newline), piece.is_error, newline});
      self.followers_.flush(in, self.clock_.now());
    });
  };
  out.ended = [find, &loop = loop_](int exit_code) {
    loop.post([find, exit_code] {
      find([&](Kubelet& self, PodRun& in, ContainerRun& running) { self.ended(in, running, exit_code); });
    });
  };
  return out;
}

std::shared_ptr<session::Session> Kubelet::begin_session(const kube::PodConnectRequest& request,
                                                         const session::Protocol& protocol, PodRun& run,
                                                         ContainerRun& container, std::shared_ptr<session::Out> out) {
  const SessionQuery asked = read_query(request.query);
  const session::SessionSetting setting{loop_, clock_, protocol, asked.wanted};
  const schema::Document pod = run.pod->document();
  std::shared_ptr<session::ContainerSession> made;
  if (request.subresource == "exec") {
    made = session::make_exec(setting, asked.command, present_world(run, container, pod.root()), std::move(out));
  } else if (container.program.starved && asked.wanted.input) {
    container.program.lines.clear();  // the program runs again from its start, with input
    const bool once = container_spec(pod.root(), container)["stdinOnce"].boolean();
    made = session::make_exec(setting, container.command, present_world(run, container, pod.root()), std::move(out),
                              main_process_calls(run, container, once));
  } else {
    made = session::make_attach(setting, session::Play::of(container.program, container.started), std::move(out));
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
                   protocol = *protocol](std::shared_ptr<session::Out> out) -> std::shared_ptr<session::Session> {
                    if (request.subresource == "portforward")
                      return session::make_port_forward(protocol, request.namespace_name + "/" + request.pod_name,
                                                        std::move(out));
                    const auto self = weak.lock();
                    PodRun* again = nullptr;
                    ContainerRun* in = nullptr;
                    // The pod may have ended while the answer was sent.
                    if (!self || !self->check_session(request, again, in)) return nullptr;
                    return self->begin_session(request, protocol, *again, *in, std::move(out));
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
