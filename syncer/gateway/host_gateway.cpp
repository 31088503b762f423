#include "sublet/syncer/host_gateway.h"

#include <algorithm>
#include <array>
#include <set>

#include "sublet/base/log.h"
#include "sublet/base/status_json.h"
#include "sublet/kube/client.h"
#include "sublet/kube/pod_connect.h"
#include "sublet/kube/pod_proxy.h"
#include "sublet/kube/tunnel_wire.h"
#include "sublet/net/duplex.h"
#include "sublet/net/outbound.h"
#include "sublet/schema/document.h"
#include "sublet/schema/engine.h"
#include "sublet/syncer/host_audit.h"
#include "sublet/syncer/node_names.h"
#include "sublet/syncer/translate.h"
#include "syncer/gateway/host_openapi.h"
#include "syncer/gateway/host_refusal.h"
#include "syncer/gateway/metrics_answer.h"
#include "syncer/gateway/session_errors.h"

namespace sublet::syncer {

namespace tunnel = kube::tunnel;

namespace {

constexpr std::string_view kMetadataOnly = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
constexpr std::chrono::milliseconds kRetryDelay{500}, kMetricsTimeout{30'000};
constexpr std::chrono::milliseconds kQuickRetryDelay{20};  // the API server starts beside the syncer
constexpr int kQuickRetries = 250;
constexpr std::size_t kPieceMax = 256 * 1024;     // of one POST
constexpr std::size_t kBufferedHigh = kPieceMax;  // with so much waiting for the tenant, the host has to wait

constexpr std::array<std::string_view, 10> kLogOptions = {"container", "follow",       "limitBytes", "pretty",
                                                          "previous",  "sinceSeconds", "sinceTime",  "stream",
                                                          "tailLines", "timestamps"};

// What is not a log's option (insecureSkipTLSVerifyBackend among them) is not the host's business. Of each the first
// value counts, as the host reads it: an empty container before the one that was judged would be the host's to choose.
std::string allowed_log_query(const std::string& query) {
  std::string allowed;
  std::set<std::string> seen;
  for (const auto& [key, value] : net::parse_query(query)) {
    if (std::ranges::find(kLogOptions, key) == kLogOptions.end()) continue;
    if ((key == "container" && value.empty()) || !seen.insert(key).second) continue;
    allowed += (allowed.empty() ? "?" : "&") + key + "=" + net::percent_encode(value);
  }
  return allowed;
}

bool is_port_character(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '-'; }

// Its status names its address for as long as it is there, and its node gives that to the next pod.
bool has_ended(const schema::Value& pod) {
  const auto phase = pod["status"]["phase"].text();
  return phase == "Succeeded" || phase == "Failed";
}

Status status_of(Reason reason, std::string message) { return fail(reason, std::move(message)).value(); }

// Collects a whole answer and hands it over on the loop.
class Collector final : public net::ResponseObserver {
 public:
  using Done = std::function<void(Outcome, int code, std::string body)>;
  explicit Collector(Done done) : done_(std::move(done)) {}
  void on_head(int code, const net::Headers&) override { code_ = code; }
  void on_body(std::string_view chunk) override { body_ += chunk; }
  void on_end(Outcome outcome) override { done_(std::move(outcome), code_, std::move(body_)); }

 private:
  Done done_;
  int code_ = 0;
  std::string body_;
};

}  // namespace

// A request to the pod itself.
struct PodCall {
  net::OutboundPeer peer;  // without its host
  net::OutboundRequest request;
  bool relayed = false;  // the answer is passed on as it comes, with its headers
  net::Headers answer{};
};

PodCall read_call(const schema::Value& job) {
  PodCall call;
  call.peer.port = static_cast<int>(job[tunnel::kPort].integer());
  call.peer.server_name = job[tunnel::kServerName].string();
  call.peer.ca_pem = job[tunnel::kCa].string();
  call.request.request.method = job[tunnel::kMethod].string();
  call.request.request.target = job[tunnel::kTarget].string();
  call.peer.certificate_pem = job[tunnel::kCertificate].string();
  call.peer.key_pem = job[tunnel::kKey].string();
  call.peer.any_certificate = job[tunnel::kAnyCertificate].boolean();
  call.relayed = job[tunnel::kRelayed].boolean();
  for (const schema::Value header : job[tunnel::kHeaders])
    call.request.request.headers.add(header[tunnel::kName].string(), header[tunnel::kValue].string());
  call.request.request.body = schema::base64_decode(job[tunnel::kBody].text()).value_or("");
  call.request.timeout = std::chrono::milliseconds(job[tunnel::kTimeout].integer(10'000));
  return call;
}

// An upgrade that is asked of the host, and its answer.
struct PodConnect {
  std::string subresource, method;
  WriteCause cause;
  net::Headers headers, answer;
  // Of a proxy alone:
  std::string path, query, prefix, body;
  kube::ProxyName at;  // its name is the host pod's
  bool is_proxy() const { return subresource == kube::kProxySubresource; }
};

// What crosses is decided here: the API server is the tenant's side.
PodConnect read_connect(const schema::Value& job) {
  PodConnect connect;
  connect.subresource = job[tunnel::kSubresource].string();
  connect.method = job[tunnel::kMethod].text() == "GET" ? "GET" : "POST";
  connect.cause.user = job[tunnel::kUser].string();
  connect.cause.request_id = job[tunnel::kRequestId].string();
  net::Headers asked;
  for (const schema::Value header : job[tunnel::kHeaders])
    asked.add(header[tunnel::kName].string(), header[tunnel::kValue].string());
  connect.headers = kube::allowed_upgrade_headers(asked);
  if (!connect.is_proxy()) return connect;
  const schema::Value proxy = job[tunnel::kProxy];
  connect.method = job[tunnel::kMethod].string();
  connect.headers = kube::proxied_request_headers(asked, true);
  connect.at = {proxy[tunnel::kScheme].string(), "", proxy[tunnel::kPort].string()};
  connect.path = proxy[tunnel::kProxyPath].string();
  connect.prefix = proxy[tunnel::kPrefix].string();
  connect.body = schema::base64_decode(proxy[tunnel::kBody].text()).value_or("");
  return connect;
}

// One log being carried. Everything happens on the loop's thread.
struct HostStream : std::enable_shared_from_this<HostStream> {
  HostStream() = default;
  HostStream(const HostStream&) = delete;
  HostStream& operator=(const HostStream&) = delete;
  ~HostStream() {
    if (host_connection) host_connection->close();
    if (tenant_connection) tenant_connection->close();
  }

  std::string id, tenant_namespace, tenant_pod, tenant_pod_uid, host_pod, host_namespace, query;
  std::shared_ptr<const NodeNames> node_names;
  kube::LinkRewriter links;
  net::Loop* loop = nullptr;
  net::Transport* tenant = nullptr;
  std::function<void(HostStream*)> finished;
  std::optional<PodCall> call;                   // instead of a log
  std::optional<PodConnect> connect;             // the same
  std::optional<kube::MetricsQuestion> metrics;  // the same, of no pod
  std::shared_ptr<net::Duplex> host_connection, tenant_connection;
  std::shared_ptr<void> call_exchange;

  std::unique_ptr<net::Exchange> host_exchange, tenant_exchange;
  int code = 200;
  std::string content_type = "text/plain", buffer;
  bool sent_any = false, host_ended = false, broken = false, posting = false, over = false, paused = false;
  bool push_waits = false;

  void take(const std::string& text) {
    buffer += links.put(text);
    push_soon();
    pace();
  }

  // Once all that has come is taken: an answer that came at once goes on as one piece.
  void push_soon() {
    if (std::exchange(push_waits, true)) return;
    loop->post([weak = weak_from_this()] {
      const auto stream = weak.lock();
      if (!stream) return;
      stream->push_waits = false;
      stream->push();
    });
  }

  // The host is heard while there is room; a tenant that reads slowly loses nothing, and costs a few pieces.
  void pace() {
    if (over || !host_exchange || std::exchange(paused, buffer.size() >= kBufferedHigh) == paused) return;
    host_exchange->pause(paused);
  }

  void host_ends(const Outcome& outcome) {
    host_ended = true;
    buffer += links.end();
    if (!outcome && !sent_any && buffer.empty() && call && call->relayed) return fail_call(outcome.error().message);
    if (!outcome && !sent_any && buffer.empty())
      return answer(status_of(Reason::service_unavailable,
                              "the host did not answer for the " + what() + ": " + outcome.error().message));
    if (!outcome) broken = true;
    push();
  }

  /// It reaches what has the pod's address by then, whoever asks there: we, or the host's API server.
  bool goes_by_address() const { return call || (connect && connect->is_proxy()); }

  std::string what() const {
    if (metrics) return "metrics";
    return (connect ? connect->subresource : call ? "webhook" : "log") + " of pod " + tenant_pod;
  }

  // Instead of a log.
  void answer(const Status& status) {
    code = status.http_code();
    content_type = "application/json";
    buffer = status_json(status);
    host_ended = true;
    push();
  }

  // In the way of what was asked.
  void refuse(const std::string& why) { call ? fail_call(why) : answer(status_of(Reason::service_unavailable, why)); }

  void fail_call(const std::string& why) {
    code = 502;
    content_type = tunnel::kCallFailed;
    buffer = why;
    host_ended = true;
    push();
  }

  // What a pod's own server says: its headers go with the first piece, and links lead to where the client has it.
  void begin_proxied(int host_code, const net::Headers& headers) {
    code = host_code;
    connect->answer = kube::proxied_answer_headers(headers, false);
    const std::string from = proxy_path(), &to = connect->prefix;
    if (const auto location = connect->answer.get("Location"); location.starts_with(from))
      connect->answer.set("Location", to + std::string(location.substr(from.size())));
    const auto type = headers.get("Content-Type");
    content_type = std::string(type);
    if (type.starts_with("text/html") && !connect->answer.has("Content-Encoding")) links = {from, to};
    push_soon();
  }

  std::string proxy_path() const {
    return "/api/v1/namespaces/" + host_namespace + "/pods/" + connect->at.text() + "/proxy";
  }

  HostTextNames text_names() const {
    return {host_namespace,
            [](const std::string&) { return std::nullopt; },
            host_pod,
            {tenant_namespace, tenant_pod, tenant_pod_uid},
            node_names.get()};
  }

  // Error texts name the host's pod, and who asked; the tenant knows another name, and nobody there. What a pod's own
  // server says is its own, unless it names the host's pod.
  void rename_in_error() {
    if (code < 400 || host_pod.empty()) return;
    const HostTextNames names = text_names();
    if (auto translated = call ? "" : tenant_refusal(buffer, names, connect && connect->is_proxy());
        !translated.empty())
      buffer = std::move(translated);
    else if (node_names && !call && !(connect && connect->is_proxy()))
      buffer = node_names->in_text(buffer);
    for (auto at = buffer.find(host_pod); at != std::string::npos; at = buffer.find(host_pod, at + tenant_pod.size()))
      buffer.replace(at, host_pod.size(), tenant_pod);
  }

  // The host has upgraded: the tenant is to meet it.
  void meet(std::shared_ptr<net::Duplex> host) {
    const bool translates_errors =
        node_names && has_error_channel(connect->subresource, connect->answer.get("Sec-WebSocket-Protocol"));
    const auto translate = [names = text_names(), kept = node_names](std::string_view message) {
      return tenant_session_error(message, names);
    };
    host_connection = translates_errors ? with_errors_translated(std::move(host), translate) : std::move(host);
    net::Request request;
    request.method = "GET";
    request.target = std::string(tunnel::kPath) + "/" + id;
    request.headers = {{"Connection", "Upgrade"}, {"Upgrade", std::string(tunnel::kProtocol)}};
    for (const auto& [name, value] : connect->answer)
      request.headers.add(std::string(tunnel::kHostHeader) + name, value);
    tenant_exchange = tenant->start(std::move(request), std::make_shared<TenantMeeting>(shared_from_this()),
                                    std::chrono::milliseconds(0));
  }

  void met(std::shared_ptr<net::Duplex> connection) {
    tenant_connection = std::move(connection);
    net::splice(tenant_connection, host_connection, [weak = weak_from_this(), to = loop] {
      to->post([weak] {
        if (const auto stream = weak.lock()) stream->finish();
      });
    });
  }

  // The tenant's side of an upgrade.
  class TenantMeeting final : public net::UpgradeObserver {
   public:
    explicit TenantMeeting(const std::shared_ptr<HostStream>& stream) : stream_(stream), loop_(stream->loop) {}
    void on_head(int, const net::Headers&) override {}
    void on_body(std::string_view) override {}
    void on_end(Outcome) override {  // no 101: the client has gone
      loop_->post([weak = stream_] {
        if (const auto stream = weak.lock()) stream->finish();
      });
    }
    void on_upgrade(std::shared_ptr<net::Duplex> connection) override {
      loop_->post([weak = stream_, connection = std::move(connection)] {
        if (const auto stream = weak.lock(); stream && !stream->over) stream->met(connection);
      });
    }

   private:
    const std::weak_ptr<HostStream> stream_;
    net::Loop* const loop_;
  };

  // Sends the next piece when none is on its way.
  void push() {
    if (over || posting || (buffer.empty() && !host_ended && sent_any)) return;
    if (code >= 400 && !host_ended && buffer.size() < kPieceMax) return;  // errors go in one piece
    rename_in_error();
    const bool all = buffer.size() <= kPieceMax;
    net::Request request;
    request.method = "POST";
    request.target =
        std::string(tunnel::kPath) + "/" + id + "?" + std::string(tunnel::kCode) + "=" + std::to_string(code);
    const bool last = host_ended && all;
    if (last)
      request.target.append("&")
          .append(tunnel::kEnd)
          .append("=")
          .append(broken ? tunnel::kEndBroken : tunnel::kEndComplete);
    request.headers.set("Content-Type", content_type);
    if (const auto* headers = connect ? &connect->answer : call ? &call->answer : nullptr; headers && !sent_any)
      for (const auto& [name, value] : *headers) request.headers.add(std::string(tunnel::kHostHeader) + name, value);
    request.body = buffer.substr(0, kPieceMax);
    buffer.erase(0, kPieceMax);
    posting = sent_any = true;
    pace();
    auto done = std::make_shared<Collector>(
        [weak = weak_from_this(), last](const Outcome& outcome, int answer, const std::string&) {
          const auto self = weak.lock();
          if (!self) return;
          // The exchange must not be destroyed from within its own callback.
          self->loop->post([weak, last, good = outcome && answer == 200] {
            const auto stream = weak.lock();
            if (!stream) return;
            stream->posting = false;
            stream->tenant_exchange.reset();
            if (!good || last) return stream->finish();
            stream->push();
          });
        });
    tenant_exchange = tenant->start(std::move(request), std::move(done), std::chrono::milliseconds(0));
  }

  void finish() {
    if (over) return;
    over = true;
    finished(this);
  }
};

std::string allowed_query(const HostStream& stream, const std::string& query) {
  if (!stream.connect) return allowed_log_query(query);
  if (stream.connect->is_proxy()) return query.empty() ? "" : "?" + query;  // is_proxy_target() looks at it
  const std::string allowed = kube::allowed_connect_query(stream.connect->subresource, query);
  return allowed.empty() ? "" : "?" + allowed;
}

struct HostGateway::Impl : std::enable_shared_from_this<HostGateway::Impl> {
  Impl(net::Loop& loop_, std::shared_ptr<net::Transport> tenant_, std::shared_ptr<net::Transport> host_,
       HostGatewayOptions options_)
      : loop(loop_),
        tenant(std::move(tenant_)),
        host(std::move(host_)),
        options(std::move(options_)),
        outbound(loop_, options.call_rules) {}

  void poll() {
    if (stopped) return;
    net::Request request;
    request.method = "GET";
    request.target = tunnel::kPath;
    auto done =
        std::make_shared<Collector>([weak = weak_from_this()](const Outcome& outcome, int code, std::string body) {
          const auto self = weak.lock();
          if (!self) return;
          self->loop.post([weak, good = outcome.has_value(), code, text = std::move(body)] {
            if (const auto impl = weak.lock()) impl->polled(good, code, text);
          });
        });
    poll_exchange = tenant->start(std::move(request), std::move(done), std::chrono::milliseconds(0));
  }

  void polled(bool good, int code, const std::string& body) {
    poll_exchange.reset();
    if (stopped) return;
    failed_polls = good ? 0 : failed_polls + 1;
    if (good && code == 200) {
      open(body);
      return poll();
    }
    const bool starting = !good && failed_polls <= kQuickRetries;
    loop.after(starting ? kQuickRetryDelay : kRetryDelay, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->poll();
    });
  }

  void open(const std::string& job_text) {
    const auto job = schema::Document::parse_json(job_text);
    if (!job) return log::warning("gateway.bad_job", {{"cause", job.error().message}});
    if (job->root().has(tunnel::kClosed)) {
      for (const schema::Value id : job->root()[tunnel::kClosed]) close(id.string());
      return;
    }
    auto stream = std::make_shared<HostStream>();
    stream->id = job->root()[tunnel::kId].string();
    stream->loop = &loop;
    stream->tenant = tenant.get();
    stream->finished = [this](HostStream* over) {
      std::erase_if(streams, [&](const auto& kept) { return kept.get() == over; });
    };
    if (job->root().has(tunnel::kOpenApi)) return open_openapi(stream, job->root()[tunnel::kOpenApi].string());
    if (job->root().has(tunnel::kMetrics)) stream->metrics = kube::MetricsQuestion::read(job->root()[tunnel::kMetrics]);
    stream->tenant_namespace = job->root()[tunnel::kNamespace].string();
    stream->tenant_pod = job->root()[tunnel::kPod].string();
    stream->tenant_pod_uid = job->root()[tunnel::kUid].string();
    stream->host_namespace = options.host_namespace;
    stream->node_names = options.node_names;
    if (!stream->metrics)
      stream->host_pod = options.host_name(job->root()[tunnel::kNamespace].string(), stream->tenant_pod);
    if (job->root().has(tunnel::kCall)) stream->call = read_call(job->root()[tunnel::kCall]);
    if (job->root().has(tunnel::kConnect)) stream->connect = read_connect(job->root()[tunnel::kConnect]);
    if (stream->connect) {
      stream->connect->at.name = stream->host_pod;
      stream->connect->cause.key = "pods/" + job->root()[tunnel::kNamespace].string() + "/" + stream->tenant_pod;
    }
    stream->query = allowed_query(*stream, job->root()[tunnel::kQuery].string());
    const bool too_many = streams.size() >= options.streams_max;
    streams.insert(stream);
    if (too_many)
      return stream->answer(
          status_of(Reason::too_many_requests,
                    std::to_string(options.streams_max) +
                        " logs and sessions of this virtual cluster are open already; end one, or try again"));
    if (stream->metrics) return ask_metrics(stream);
    if (!is_name(stream->host_pod)) return stream->answer(status_of(Reason::bad_request, "no pod can have this name"));
    ask_whose(stream);
  }

  // The host's OpenAPI: the hashes of what is Kubernetes' own, or one of those documents as it comes.
  void open_openapi(const std::shared_ptr<HostStream>& stream, const std::string& path) {
    const bool too_many = streams.size() >= options.streams_max;
    streams.insert(stream);
    if (too_many) return stream->answer(status_of(Reason::too_many_requests, "too many streams are open already"));
    if (!path.empty() && !is_known_document(path))
      return stream->answer(status_of(Reason::not_found, "that is no group version of Kubernetes' own"));
    if (!path.empty()) return get_openapi(*stream, "/" + path, std::make_shared<HostObserver>(stream));
    get_openapi(*stream, "", collect_for(stream, [](Impl&, HostStream& asked, int code, const std::string& body) {
      asked.code = code;
      asked.content_type = "application/json";
      asked.buffer = code == 200 ? known_hashes(body) : "";
      asked.host_ends({});
    }));
  }

  void get_openapi(HostStream& stream, const std::string& path, std::shared_ptr<net::ResponseObserver> observer) {
    stream.host_exchange = host->start(host_get("/openapi/v3" + path, "application/json"), std::move(observer),
                                       std::chrono::milliseconds(0));
  }

  /// A GET in the syncer's own name; `accept` "": whatever comes.
  net::Request host_get(std::string target, std::string_view accept) const {
    net::Request request;
    request.method = "GET";
    request.target = std::move(target);
    if (!accept.empty()) request.headers.set("Accept", std::string(accept));
    authorize(request);
    return request;
  }

  void authorize(net::Request& request) const {
    if (!options.host_bearer_token.empty()) request.headers.set("Authorization", "Bearer " + options.host_bearer_token);
  }

  void ask_metrics(const std::shared_ptr<HostStream>& stream) {
    if (!is_offered(stream->metrics->about, options))
      return stream->answer(status_of(Reason::not_found, "metrics of it are not available in this virtual cluster"));
    const auto target = host_target(*stream->metrics, options);
    if (!target) return stream->answer(target.error());
    stream->host_exchange =
        host->start(host_get(*target, "application/json"),
                    collect_for(stream,
                                [](Impl& impl, HostStream& asked, int code, const std::string& body) {
                                  const net::Response answer = tenant_answer(*asked.metrics, impl.options, code, body);
                                  asked.code = answer.code;
                                  asked.content_type = "application/json";
                                  asked.buffer = answer.body;
                                  asked.host_ends({});
                                }),
                    kMetricsTimeout);
  }

  void close(const std::string& id) {
    const auto found = std::ranges::find(streams, id, [](const auto& stream) { return stream->id; });
    if (found == streams.end()) return;
    const auto stream = (*found)->shared_from_this();  // finish() takes it out
    stream->finish();
  }

  std::unique_ptr<net::Exchange> ask_host(const HostStream& stream, std::string_view subresource,
                                          const std::string& query, std::shared_ptr<net::ResponseObserver> observer) {
    const kube::Resource pods{"", "v1", "pods"};
    const bool metadata_only = subresource.empty() && !stream.goes_by_address();
    return host->start(host_get(pods.path(options.host_namespace, stream.host_pod, subresource) + query,
                                metadata_only ? kMetadataOnly : ""),
                       std::move(observer), std::chrono::milliseconds(0));
  }

  /// The host's whole answer, for a stream that still waits for it.
  using Heard = void (*)(Impl& impl, HostStream& stream, int code, const std::string& body);
  std::shared_ptr<Collector> collect_for(const std::shared_ptr<HostStream>& stream, Heard heard) {
    return std::make_shared<Collector>([weak = std::weak_ptr(stream), self = weak_from_this(), to = &loop, heard](
                                           Outcome outcome, int code, std::string body) {
      // The exchange must not be destroyed from within its own callback.
      to->post([weak, self, heard, outcome = std::move(outcome), code, text = std::move(body)] {
        const auto impl = self.lock();
        const auto asked = weak.lock();
        if (!impl || !asked || asked->over) return;
        if (!outcome) return asked->host_ends(outcome);
        heard(*impl, *asked, code, text);
      });
    });
  }

  void ask_whose(const std::shared_ptr<HostStream>& stream) {
    stream->host_exchange = ask_host(
        *stream, "", "", collect_for(stream, [](Impl& impl, HostStream& asked, int code, const std::string& body) {
          impl.told_whose(asked.shared_from_this(), code, body);
        }));
  }

  void told_whose(const std::shared_ptr<HostStream>& stream, int code, const std::string& body) {
    if (code != 200) {
      stream->code = code;
      stream->content_type = "application/json";
      stream->buffer = body;
      return stream->host_ends({});
    }
    const auto pod = schema::Document::parse_json(body);
    const schema::Value metadata = pod ? pod->root()["metadata"] : schema::Value();
    if (metadata["labels"][kLabelTenantUid].text() != options.virtual_cluster_uid ||
        metadata["annotations"][kAnnotationTenantUid].text() != stream->tenant_pod_uid)
      return stream->answer(
          status_of(Reason::not_found,
                    "pods \"" + stream->tenant_pod + "\" not found on the host: another object has its name there"));
    if (stream->goes_by_address() && has_ended(pod->root()))
      return stream->refuse("pod " + stream->tenant_pod + " has ended, and its address may be another's by now");
    if (stream->call) return call_pod(stream, pod->root());
    if (stream->connect) return connect_pod(stream);
    stream->host_exchange = ask_host(*stream, "log", stream->query, std::make_shared<HostObserver>(stream));
  }

  // A name that is the host pod's alone, so that nothing else is asked for, whoever stands before the host's API
  // server.
  void proxy_to_pod(const std::shared_ptr<HostStream>& stream) {
    PodConnect& connect = *stream->connect;
    const auto at = kube::parse_proxy_name(connect.at.text());
    const auto query = std::string_view(stream->query).substr(std::min<std::size_t>(stream->query.size(), 1));
    if (!at || at->name != stream->host_pod || !std::ranges::all_of(at->port, is_port_character) ||
        !kube::is_proxy_target(connect.path, query))
      return stream->answer(status_of(Reason::bad_request, "this is no request that could be passed on to a pod"));
    net::Request request;
    request.method = connect.method;
    request.target = stream->proxy_path() + connect.path + stream->query;
    request.headers = connect.headers;
    request.body = std::move(connect.body);
    authorize(request);
    const CauseScope cause(stream->connect->cause);
    stream->host_exchange =
        host->start(std::move(request), std::make_shared<HostUpgrade>(stream), std::chrono::milliseconds(0));
  }

  void connect_pod(const std::shared_ptr<HostStream>& stream) {
    if (stream->connect->is_proxy()) return proxy_to_pod(stream);
    if (!kube::is_connect_subresource(stream->connect->subresource))
      return stream->answer(status_of(Reason::not_found, "pods have no sessions of that kind"));
    const kube::Resource pods{"", "v1", "pods"};
    net::Request request;
    request.method = stream->connect->method;
    request.target = pods.path(options.host_namespace, stream->host_pod, stream->connect->subresource) + stream->query;
    request.headers = stream->connect->headers;
    authorize(request);
    const CauseScope cause(stream->connect->cause);
    stream->host_exchange =
        host->start(std::move(request), std::make_shared<HostUpgrade>(stream), std::chrono::milliseconds(0));
  }

  void call_pod(const std::shared_ptr<HostStream>& stream, const schema::Value& pod) {
    const std::string name = "pod " + stream->tenant_pod;
    if (pod["spec"]["hostNetwork"].boolean())
      return stream->fail_call(name + " is on the network of its node, where nothing of a virtual cluster is called");
    stream->call->peer.host = pod["status"]["podIP"].string();
    if (stream->call->peer.host.empty()) return stream->fail_call(name + " has no address yet");
    if (stream->call->relayed) return relay_from_pod(stream);
    stream->call_exchange =
        outbound.call(stream->call->peer, std::move(stream->call->request),
                      [weak = std::weak_ptr(stream), to = &loop](Result<net::Response> response) {
                        // The exchange must not be destroyed from within its own callback.
                        to->post([weak, response = std::move(response)] {
                          const auto asked = weak.lock();
                          if (!asked || asked->over) return;
                          if (!response)
                            return asked->fail_call(response.error().is(Reason::timeout) ? "context deadline exceeded"
                                                                                         : response.error().message);
                          asked->code = response->code;
                          asked->content_type = std::string(response->headers.get("Content-Type"));
                          asked->buffer = response->body;
                          asked->host_ends({});
                        });
                      });
  }

  void relay_from_pod(const std::shared_ptr<HostStream>& stream) {
    const auto transport = outbound.transport_to(stream->call->peer);
    if (!transport) return stream->fail_call(transport.error().message);
    stream->host_exchange = (*transport)
                                ->start(std::move(stream->call->request.request), std::make_shared<PodAnswer>(stream),
                                        stream->call->request.timeout);
  }

  // Feeds a stream; holds it weakly, because the stream owns the exchange that owns this.
  template <class Base>
  class Feeder : public Base {
   public:
    explicit Feeder(const std::shared_ptr<HostStream>& stream) : stream_(stream), loop_(stream->loop) {}
    void on_head(int code, const net::Headers& headers) override {
      on_loop([code, type = std::string(headers.get("Content-Type"))](HostStream& stream) {
        stream.code = code;
        if (!type.empty()) stream.content_type = type;
        stream.push();
      });
    }
    void on_body(std::string_view chunk) override {
      on_loop([text = std::string(chunk)](HostStream& stream) { stream.take(text); });
    }
    void on_end(Outcome outcome) override {
      on_loop([result = std::move(outcome)](HostStream& stream) { stream.host_ends(result); });
    }

   protected:
    template <class Task>
    void on_loop(Task task) {
      loop_->post([weak = stream_, task = std::move(task)] {
        if (const auto stream = weak.lock()) task(*stream);
      });
    }

   private:
    std::weak_ptr<HostStream> stream_;
    net::Loop* loop_;
  };
  using HostObserver = Feeder<net::ResponseObserver>;

  // What a relayed call is answered.
  class PodAnswer final : public HostObserver {
   public:
    using HostObserver::HostObserver;
    void on_head(int code, const net::Headers& headers) override {
      on_loop([code, headers](HostStream& stream) {
        stream.code = code;
        stream.call->answer = kube::proxied_answer_headers(headers, false);
        stream.content_type = std::string(headers.get("Content-Type"));
        stream.push();
      });
    }
  };

  class HostUpgrade final : public Feeder<net::UpgradeObserver> {
   public:
    using Feeder::Feeder;
    void on_head(int code, const net::Headers& headers) override {
      on_loop([code, headers](HostStream& stream) {
        PodConnect& connect = *stream.connect;
        if (code == 101) {
          connect.answer = connect.is_proxy() ? kube::proxied_answer_headers(headers, true)
                                              : kube::allowed_upgraded_headers(headers);
          return;
        }
        if (connect.is_proxy()) return stream.begin_proxied(code, headers);
        stream.code = code;
        if (const auto type = headers.get("Content-Type"); !type.empty()) stream.content_type = type;
        stream.push();
      });
    }
    void on_upgrade(std::shared_ptr<net::Duplex> connection) override {
      on_loop([connection = std::move(connection)](HostStream& stream) {
        if (!stream.over) stream.meet(connection);
      });
    }
  };

  net::Loop& loop;
  std::shared_ptr<net::Transport> tenant, host;
  HostGatewayOptions options;
  net::OutboundClient outbound;
  // The loop's thread only:
  std::unique_ptr<net::Exchange> poll_exchange;
  int failed_polls = 0;  // in a row
  std::set<std::shared_ptr<HostStream>> streams;
  bool stopped = false;
};

HostGateway::HostGateway(net::Loop& loop, std::shared_ptr<net::Transport> tenant, std::shared_ptr<net::Transport> host,
                         HostGatewayOptions options)
    : impl_(std::make_shared<Impl>(loop, std::move(tenant), std::move(host), std::move(options))) {}

HostGateway::~HostGateway() {
  impl_->loop.run_sync([this] {
    impl_->stopped = true;
    impl_->poll_exchange.reset();
    impl_->streams.clear();
  });
}

void HostGateway::start() {
  impl_->loop.post([weak = std::weak_ptr(impl_)] {
    if (const auto self = weak.lock()) self->poll();
  });
}

}  // namespace sublet::syncer
