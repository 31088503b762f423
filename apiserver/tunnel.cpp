#include "sublet/apiserver/tunnel.h"

#include <charconv>
#include <chrono>
#include <deque>
#include <map>
#include <optional>
#include <variant>
#include <vector>

#include "apiserver/admission/relayed_answer.h"
#include "apiserver/tunnel_call.h"
#include "sublet/base/clock.h"
#include "sublet/base/mutex.h"
#include "sublet/base/status_json.h"
#include "sublet/kube/client.h"
#include "sublet/kube/pod_proxy.h"
#include "sublet/kube/tunnel_wire.h"
#include "sublet/net/duplex.h"
#include "sublet/schema/document.h"
#include "sublet/schema/engine.h"

namespace sublet::apiserver {
namespace {

namespace wire = kube::tunnel;

constexpr std::size_t kWaitingJobsMax = 64;  // waiting for a syncer; further requests are refused
constexpr std::chrono::seconds kSyncerTimeout{10};
constexpr std::chrono::seconds kOpenApiTimeout{8};  // a host that has just started writes its documents first
constexpr std::chrono::seconds kBetweenPolls{2};    // without a poll for so long, the syncer counts as absent
constexpr std::chrono::seconds kFirstPoll{10};      // both processes start at once
constexpr std::size_t kBacklogHigh = 256 * 1024;    // a piece is acknowledged once less than this waits for the client

struct PodCall {
  ServiceCall call;
  bool is_relayed = false;  // the answer is passed on piece by piece, with its headers
};
struct OpenApiQuestion {
  std::string path;  // "": the hashes of all documents
};
/// What a job asks of the syncer, each with its own members on the wire.
using JobQuestion = std::variant<PodLogRequest, PodCall, kube::PodConnectRequest, kube::PodProxyRequest,
                                 OpenApiQuestion, kube::MetricsQuestion>;

struct Job {
  std::string id;
  JobQuestion question;
};

/// The headers of the answer are a pod's.
bool answers_with_headers(const JobQuestion& question) {
  const auto* call = std::get_if<PodCall>(&question);
  return std::holds_alternative<kube::PodProxyRequest>(question) || (call && call->is_relayed);
}

// Joins two connections into one. Each arrives when its 101 is on its way. A connection whose counterpart never arrives
// is closed when this is destroyed.
class Meeting {
 public:
  explicit Meeting(std::shared_ptr<net::ResponseSink> client) : client_(std::move(client)) {}
  void come(const std::shared_ptr<net::Duplex>& connection) {
    std::shared_ptr<net::Duplex> first;
    {
      const MutexLock lock(mutex_);
      first = std::move(first_);
      if (!first) first_ = connection;
    }
    // Keeps the client's exchange open as long as both, so that revoking its rights aborts the session.
    if (first) net::splice(first, connection, [client = client_] {});
  }

 private:
  const std::shared_ptr<net::ResponseSink> client_;
  Mutex mutex_;
  std::shared_ptr<net::Duplex> first_ SUBLET_GUARDED_BY(mutex_);
};

struct Stream {
  std::shared_ptr<net::ResponseSink> client;
  bool started = false;
  bool proxied = false;                               // the answer's headers are a pod's
  std::shared_ptr<net::ResponseSink> unacknowledged;  // the syncer's POST that waits for room
};

void put_headers(schema::Value out, const net::Headers& headers) {
  schema::Value list = out.array(wire::kHeaders);  // a name may come several times
  for (const auto& [name, value] : headers) {
    schema::Value header = list.push_object();
    header.put(wire::kName, name);
    header.put(wire::kValue, value);
  }
}

void put_pod(schema::Value root, const std::string& namespace_name, const std::string& name, const std::string& uid,
             const std::string& query) {
  root.put(wire::kNamespace, namespace_name);
  root.put(wire::kPod, name);
  root.put(wire::kUid, uid);
  root.put(wire::kQuery, query);
}

void put_question(schema::Value root, const PodLogRequest& log) {
  put_pod(root, log.namespace_name, log.pod_name, log.pod_uid, log.query);
}

void put_question(schema::Value root, const PodCall& asked) {
  const ServiceCall& call = asked.call;
  put_pod(root, call.pod_namespace, call.pod_name, call.pod_uid, "");
  schema::Value out = root.object(wire::kCall);
  out.put(wire::kPort, call.port);
  out.put(wire::kServerName, call.server_name);
  out.put(wire::kCa, call.ca_pem);
  out.put(wire::kMethod, call.request.method);
  out.put(wire::kTarget, call.request.target);
  put_headers(out, call.request.headers);
  out.put(wire::kBody, schema::base64_encode(call.request.body));
  out.put(wire::kTimeout, static_cast<std::int64_t>(call.timeout.count()));
  if (call.any_certificate) out.put(wire::kAnyCertificate, true);
  if (!call.certificate_pem.empty()) {
    out.put(wire::kCertificate, call.certificate_pem);
    out.put(wire::kKey, call.key_pem);
  }
  if (asked.is_relayed) out.put(wire::kRelayed, true);
}

void put_question(schema::Value root, const kube::PodConnectRequest& connect) {
  put_pod(root, connect.namespace_name, connect.pod_name, connect.pod_uid, connect.query);
  schema::Value out = root.object(wire::kConnect);
  out.put(wire::kSubresource, connect.subresource);
  out.put(wire::kMethod, connect.method);
  out.put(wire::kUser, connect.user);
  out.put(wire::kRequestId, connect.request_id);
  put_headers(out, connect.headers);
}

void put_question(schema::Value root, const kube::PodProxyRequest& asked) {
  put_question(root, static_cast<const kube::PodConnectRequest&>(asked));
  schema::Value out = root.object(wire::kConnect).object(wire::kProxy);
  out.put(wire::kScheme, asked.scheme);
  out.put(wire::kPort, asked.port);
  out.put(wire::kProxyPath, asked.path);
  out.put(wire::kPrefix, asked.prefix);
  out.put(wire::kBody, schema::base64_encode(asked.body));
}

void put_question(schema::Value root, const OpenApiQuestion& asked) { root.put(wire::kOpenApi, asked.path); }

void put_question(schema::Value root, const kube::MetricsQuestion& asked) { asked.put(root.object(wire::kMetrics)); }

// Returns the host's own headers out of those that the syncer sends.
net::Headers host_headers(const net::Headers& headers) {
  net::Headers found;
  for (const auto& [name, value] : headers)
    if (name.starts_with(wire::kHostHeader)) found.add(name.substr(wire::kHostHeader.size()), value);
  return found;
}

// Returns the headers of the client's answer, taken from the first piece.
net::Headers head_of_answer(const net::Request& piece, bool proxied) {
  if (!proxied) return {{"Content-Type", std::string(piece.headers.get("Content-Type"))}};
  net::Headers head = kube::proxied_answer_headers(host_headers(piece.headers), false);
  // The syncer answered in place of the pod.
  if (const auto type = piece.headers.get("Content-Type"); !type.empty()) head.set("Content-Type", std::string(type));
  return head;
}

std::string job_json(const Job& job) {
  schema::Document document = schema::Document::object();
  schema::Value root = document.root();
  root.put(wire::kId, job.id);
  std::visit([root](const auto& asked) { put_question(root, asked); }, job.question);
  return document.to_json();
}

std::string closed_json(const std::vector<std::string>& ids) {
  schema::Document document = schema::Document::object();
  schema::Value list = document.root().array(wire::kClosed);
  for (const std::string& id : ids) list.push(id);
  return document.to_json();
}

void answer_status(net::ResponseSink& sink, Reason reason, std::string message) {
  Status status;
  status.reason = reason;
  status.message = std::move(message);
  sink.respond(status.http_code(), {{"Content-Type", "application/json"}}, status_json(status));
}

void answer_empty(net::ResponseSink& sink, int code) { sink.respond(code, {}, ""); }

std::string query_value(const net::Request& request, std::string_view key) {
  for (auto& [name, value] : net::parse_query(request.query()))
    if (name == key) return value;
  return "";
}

// Returns the host's status code from a piece; 200 when absent, nullopt when it is not a code from 200 to 599.
std::optional<int> host_code(const net::Request& request) {
  const std::string text = query_value(request, wire::kCode);
  if (text.empty()) return 200;
  int code = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), code);
  const bool good = error == std::errc() && end == text.data() + text.size() && code >= 200 && code <= 599;
  return good ? std::optional<int>(code) : std::nullopt;
}

}  // namespace

struct Tunnel::Impl : std::enable_shared_from_this<Tunnel::Impl> {
  Impl(net::Loop& loop_, Clock& clock_) : loop(loop_), clock(clock_), begun(clock_.steady_now()) {}

  // --- the tenant's side ---

  void open(JobQuestion question, const std::shared_ptr<net::ResponseSink>& client) {
    std::string id;
    {
      const MutexLock lock(mutex);
      if (waiting.size() < kWaitingJobsMax) {
        id = std::to_string(++last_id);
        streams[id].client = client;
        streams[id].proxied = answers_with_headers(question);
        waiting.push_back({id, std::move(question)});
      }
    }
    if (id.empty())
      return answer_status(*client, Reason::service_unavailable, "the syncer is not connected; try again in a moment");
    client->on_close([weak = weak_from_this(), id] {
      if (const auto self = weak.lock()) self->client_closed(id);
    });
    client->on_drain([weak = weak_from_this(), id] {
      if (const auto self = weak.lock()) self->client_drained(id);
    });
    hand_out();
    loop.after(std::chrono::duration_cast<std::chrono::milliseconds>(kSyncerTimeout), [weak = weak_from_this(), id] {
      if (const auto self = weak.lock()) self->give_up_if_waiting(id);
    });
  }

  // The call ends when the caller drops the returned handle.
  std::shared_ptr<void> call(ServiceCall call, std::function<void(Result<net::Response>)> done) {
    const auto timeout = call.timeout;
    return ask(PodCall{std::move(call)}, timeout, std::move(done));
  }

  std::shared_ptr<void> ask(JobQuestion question, std::chrono::milliseconds timeout,
                            std::function<void(Result<net::Response>)> done) {
    const auto end = std::make_shared<TunnelCall>(loop, std::move(done));
    begin(std::move(question), timeout, end);
    return {end.get(), [end](void*) { end->drop(); }};
  }

  // Opens on the loop, so that no answer arrives before this function returns.
  void begin(JobQuestion question, std::chrono::milliseconds timeout, const std::shared_ptr<TunnelCall>& end) {
    loop.post([self = shared_from_this(), question = std::move(question), end]() mutable {
      self->open(std::move(question), end);
    });
    loop.after(timeout, [weak = std::weak_ptr(end)] {
      if (const auto late = weak.lock()) late->fail_with(fail(Reason::timeout, "context deadline exceeded").value());
    });
  }

  void ask_openapi(const std::string& path, std::function<void(Result<std::string>)> done) {
    if (!is_syncer_connected()) return done(fail(Reason::service_unavailable, "the syncer is not connected"));
    const auto end = std::make_shared<TunnelCall>(loop, [done = std::move(done)](Result<net::Response> answer) {
      if (!answer) return done(fail(answer.error()));
      if (answer->code != 200)
        return done(fail(Reason::service_unavailable, "the host answered " + std::to_string(answer->code)));
      done(std::move(answer->body));
    });
    begin(OpenApiQuestion{path}, std::chrono::duration_cast<std::chrono::milliseconds>(kOpenApiTimeout), end);
  }

  bool is_syncer_connected() {
    const MutexLock lock(mutex);
    const auto now = clock.steady_now();
    return parked || (polled_at ? now - *polled_at < kBetweenPolls : now - begun < kFirstPoll);
  }

  // Answers the parked poll with the ids of closed jobs, or with the next job.
  void hand_out() {
    std::shared_ptr<net::ResponseSink> poll;
    std::vector<std::string> ended;
    Job job;
    {
      const MutexLock lock(mutex);
      if (!parked || (waiting.empty() && closed.empty())) return;
      poll = std::exchange(parked, nullptr);
      polled_at = clock.steady_now();
      ended.swap(closed);
      if (ended.empty()) {
        job = std::move(waiting.front());
        waiting.pop_front();
      }
    }
    poll->respond(200, {{"Content-Type", "application/json"}}, ended.empty() ? job_json(job) : closed_json(ended));
  }

  void give_up_if_waiting(const std::string& id) {
    std::shared_ptr<net::ResponseSink> client;
    {
      const MutexLock lock(mutex);
      for (auto job = waiting.begin(); job != waiting.end(); ++job) {
        if (job->id != id) continue;
        waiting.erase(job);
        client = streams[id].client;
        streams.erase(id);
        break;
      }
    }
    if (client)
      answer_status(*client, Reason::service_unavailable,
                    "the syncer is not connected, so the host cannot be asked; try again");
  }

  void client_closed(const std::string& id) {
    std::shared_ptr<net::ResponseSink> post;
    {
      const MutexLock lock(mutex);
      const auto found = streams.find(id);
      if (found == streams.end()) return;
      post = std::move(found->second.unacknowledged);
      streams.erase(found);
      // A silent log posts no piece that could be answered by 410, so the next poll names it.
      if (std::erase_if(waiting, [&](const Job& job) { return job.id == id; }) == 0 && !post) closed.push_back(id);
    }
    if (post) answer_empty(*post, 410);
    hand_out();
  }

  void client_drained(const std::string& id) {
    std::shared_ptr<net::ResponseSink> post;
    {
      const MutexLock lock(mutex);
      const auto found = streams.find(id);
      if (found != streams.end()) post = std::move(found->second.unacknowledged);
    }
    if (post) answer_empty(*post, 200);
  }

  // --- the syncer's side ---

  void poll(const std::shared_ptr<net::ResponseSink>& sink) {
    std::shared_ptr<net::ResponseSink> previous;
    {
      const MutexLock lock(mutex);
      previous = std::exchange(parked, sink);
    }
    if (previous) answer_empty(*previous, 204);  // a restarted syncer polls again: the newest poll counts
    sink->on_close([weak = weak_from_this(), raw = sink.get()] {
      const auto self = weak.lock();
      if (!self) return;
      const MutexLock lock(self->mutex);
      if (self->parked.get() == raw) self->parked = nullptr;
    });
    hand_out();
  }

  // Ends the stream of a piece that cannot be passed on, so that the client does not take what it has for the whole.
  void refuse_piece(const std::string& id, net::ResponseSink& post) {
    Stream stream;
    {
      const MutexLock lock(mutex);
      if (const auto found = streams.find(id); found != streams.end()) {
        stream = std::move(found->second);
        streams.erase(found);
      }
    }
    if (stream.client && stream.started) stream.client->abort();
    if (stream.client && !stream.started)
      answer_status(*stream.client, Reason::internal_error, "the syncer sent no valid answer of the host; try again");
    answer_status(post, Reason::bad_request, "code must be an HTTP status from 200 to 599");
  }

  void piece(const net::Request& request, const std::string& id, std::shared_ptr<net::ResponseSink> post) {
    std::shared_ptr<net::ResponseSink> client;
    bool first = false, proxied = false;
    const bool end = !query_value(request, wire::kEnd).empty();
    const std::optional<int> code = host_code(request);
    if (!code) return refuse_piece(id, *post);
    {
      const MutexLock lock(mutex);
      if (const auto found = streams.find(id); found != streams.end()) {
        client = found->second.client;
        first = !std::exchange(found->second.started, true);
        proxied = found->second.proxied;
        if (end) streams.erase(found);
      }
    }
    if (!client) return answer_empty(*post, 410);
    if (first) {
      net::Headers head = head_of_answer(request, proxied);
      if (end) {
        if (proxied && head.get("Content-Type") == wire::kCallFailed)
          answer_unreached(*client, request.body);
        else
          client->respond(*code, std::move(head), request.body);
        return answer_empty(*post, 200);
      }
      client->start(*code, std::move(head));
    }
    if (!request.body.empty()) client->write(std::make_shared<const std::string>(request.body));
    if (end) {
      if (query_value(request, wire::kEnd) == wire::kEndBroken)
        client->abort();
      else
        client->end();
      return answer_empty(*post, 200);
    }
    if (client->backlog() < kBacklogHigh) return answer_empty(*post, 200);
    {
      const MutexLock lock(mutex);
      if (const auto found = streams.find(id); found != streams.end())
        found->second.unacknowledged = std::exchange(post, nullptr);
    }
    if (post)
      answer_empty(*post, 410);
    else if (client->backlog() == 0)
      client_drained(id);  // drained before this post was stored
  }

  // The host answered 101: answers 101 to the client and to the syncer, and joins their connections.
  void meet(const net::Request& request, const std::string& id, const std::shared_ptr<net::ResponseSink>& syncer) {
    Stream stream;
    {
      const MutexLock lock(mutex);
      const auto found = streams.find(id);
      if (found != streams.end() && !found->second.started) {
        stream = std::move(found->second);
        streams.erase(found);
      }
    }
    if (!stream.client) return answer_empty(*syncer, 410);
    auto* to_client = net::upgradable(*stream.client);
    auto* to_syncer = net::upgradable(*syncer);
    const net::Headers brought = host_headers(request.headers);
    const net::Headers answered =
        stream.proxied ? kube::proxied_answer_headers(brought, true) : kube::allowed_upgraded_headers(brought);
    if (!to_client || !to_syncer || !kube::asks_for_upgrade(answered)) {
      answer_status(*stream.client, Reason::internal_error, "the syncer sent no valid answer of the host; try again");
      return answer_status(*syncer, Reason::bad_request,
                           "the host's answer has no upgrade that can be passed on to a client");
    }
    const auto meeting = std::make_shared<Meeting>(stream.client);
    const auto come = [meeting](const std::shared_ptr<net::Duplex>& connection) { meeting->come(connection); };
    to_client->upgrade(answered, come);
    to_syncer->upgrade({{"Connection", "Upgrade"}, {"Upgrade", std::string(wire::kProtocol)}}, come);
  }

  void serve(const net::Request& request, std::shared_ptr<net::ResponseSink> sink) {
    const std::string_view rest = request.path().substr(wire::kPath.size());
    if (rest.empty() && request.method == "GET") return poll(sink);
    if (rest.starts_with("/") && request.method == "GET") return meet(request, std::string(rest.substr(1)), sink);
    if (rest.starts_with("/") && request.method == "POST")
      return piece(request, std::string(rest.substr(1)), std::move(sink));
    answer_status(*sink, Reason::method_not_allowed, "the tunnel accepts GET for jobs and POST for their answers");
  }

  net::Loop& loop;
  Clock& clock;
  const SteadyTime begun;
  Mutex mutex;
  std::uint64_t last_id SUBLET_GUARDED_BY(mutex) = 0;
  std::deque<Job> waiting SUBLET_GUARDED_BY(mutex);          // not yet taken by a poll
  std::vector<std::string> closed SUBLET_GUARDED_BY(mutex);  // ids that a syncer works on and whose clients have left
  std::map<std::string, Stream> streams SUBLET_GUARDED_BY(mutex);
  std::shared_ptr<net::ResponseSink> parked SUBLET_GUARDED_BY(mutex);  // the syncer's poll
  std::optional<SteadyTime> polled_at SUBLET_GUARDED_BY(mutex);        // when the last one was given a job
};

Tunnel::Tunnel(net::Loop& loop, Clock& clock) : impl_(std::make_shared<Impl>(loop, clock)) {}
Tunnel::~Tunnel() = default;

PodLogs Tunnel::pod_logs() {
  return [impl = impl_](const PodLogRequest& request, const std::shared_ptr<net::ResponseSink>& sink) {
    impl->open(request, sink);
  };
}

kube::PodConnections Tunnel::pod_connections() {
  return [impl = impl_](const kube::PodConnectRequest& request, const std::shared_ptr<net::ResponseSink>& sink) {
    const auto* proxy = kube::as_proxy(request);
    impl->open(proxy ? JobQuestion(*proxy) : JobQuestion(request), sink);
  };
}

HostOpenApi Tunnel::host_openapi() {
  return [impl = impl_](const std::string& path, std::function<void(Result<std::string>)> done) {
    impl->ask_openapi(path, std::move(done));
  };
}

kube::MetricsSource Tunnel::metrics() {
  return [impl = impl_](const kube::MetricsQuestion& question, const std::shared_ptr<net::ResponseSink>& sink) {
    impl->open(question, sink);
  };
}

MetricsCheck Tunnel::metrics_check() {
  return [impl = impl_](std::function<void(std::optional<bool>)> done) {
    return impl->ask(kube::MetricsQuestion(), kSyncerTimeout,
                     [done = std::move(done)](const Result<net::Response>& answer) {
                       const int code = answer ? answer->code : 0;
                       done(code == 200 ? std::optional(true) : code == 404 ? std::optional(false) : std::nullopt);
                     });
  };
}

ServiceCaller Tunnel::service_calls() {
  return [impl = impl_](ServiceCall call, std::function<void(Result<net::Response>)> done) {
    return impl->call(std::move(call), std::move(done));
  };
}

ServiceRelay Tunnel::service_relay() {
  return [impl = impl_](ServiceCall call, const std::shared_ptr<net::ResponseSink>& sink) {
    impl->open(PodCall{.call = std::move(call), .is_relayed = true}, sink);
  };
}

net::Handler Tunnel::wrap(net::Handler inner) {
  return [impl = impl_, inner = std::move(inner)](net::Request request, std::shared_ptr<net::ResponseSink> sink) {
    // For every other peer the path does not exist: authorization, then 404.
    const bool ours =
        request.peer.kind == net::PeerIdentity::Kind::unix_socket && request.path().starts_with(wire::kPath);
    if (!ours) return inner(std::move(request), std::move(sink));
    if (!request.body_follows) return impl->serve(request, std::move(sink));
    const auto waiting = std::make_shared<net::Request>(std::move(request));
    sink->read_body([impl, waiting, sink](std::string body) {
      waiting->body = std::move(body);
      impl->serve(*waiting, sink);
    });
  };
}

}  // namespace sublet::apiserver
