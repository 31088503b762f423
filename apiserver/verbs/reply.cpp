#include "apiserver/codec/gzip.h"
#include "apiserver/codec/gzip_source.h"
#include "apiserver/codec/object_writer.h"
#include "apiserver/verbs/kept_seat.h"
#include "apiserver/verbs/verb.h"
#include "sublet/base/status_json.h"
#include "sublet/net/courier.h"

namespace sublet::apiserver {
namespace {

// Compressing costs more than it saves when the peer is on this machine.
bool is_local(const net::PeerIdentity& peer) {
  using Kind = net::PeerIdentity::Kind;
  if (peer.kind == Kind::unix_socket || peer.kind == Kind::in_process) return true;
  return peer.address.starts_with("127.") || peer.address.starts_with("[::1]");
}

bool wants_gzip(const net::Request& request) {
  return !is_local(request.peer) && accepts_gzip(request.headers.get("Accept-Encoding"));
}

// A complete body as a source, for compression while it is sent.
class WholeBody final : public net::BodySource {
 public:
  WholeBody(std::string body, std::shared_ptr<KeptSeat> seat) : body_(std::move(body)), seat_(std::move(seat)) {}
  Result<Step> next(std::string& out, const std::shared_ptr<net::Waker>&) override {
    out = std::move(body_);
    return Step::end;
  }

 private:
  std::string body_;
  const std::shared_ptr<KeptSeat> seat_;
};

}  // namespace

void reply_body(RequestContext& context, int code, std::string_view content_type, std::string body) {
  net::Headers headers = context.headers(content_type);
  const bool is_head = context.request.method == "HEAD";
  context.record(code);
  if (is_head) body.clear();
  auto seat = body.size() > net::kStepBytes ? KeptSeat::of(context) : nullptr;
  if (body.size() < kGzipBytesMin || !wants_gzip(context.request)) {
    if (seat) context.sink->on_close([seat = std::move(seat)] {});
    return context.sink->respond(code, std::move(headers), std::move(body));
  }
  auto source = std::make_unique<GzipSource>(std::make_unique<WholeBody>(std::move(body), std::move(seat)),
                                             context.core->large_answers);
  net::answer_in_steps(context.sink, code, std::move(headers), std::move(source), [](const Status&) {});
}

void reply_in_steps(const ContextPtr& context, std::string_view content_type, std::unique_ptr<net::BodySource> source) {
  net::Headers headers = context->headers(content_type);
  if (context->request.method == "HEAD") {
    context->record(200);
    return context->sink->respond(200, std::move(headers), {});
  }
  if (wants_gzip(context->request))
    source = std::make_unique<GzipSource>(std::move(source), context->core->large_answers);
  net::answer_in_steps(context->sink, 200, std::move(headers), std::move(source),
                       [context](const Status& why) { reply_status(*context, why); });
}

void reply_json(RequestContext& context, int code, std::string json) {
  std::string body = render_json(std::move(json), context.output, *context.kinds);
  const auto type = rendered_type(body, context.output);
  reply_body(context, code, type, std::move(body));
}

void reply_text(RequestContext& context, int code, std::string_view content_type, std::string body) {
  reply_body(context, code, content_type, std::move(body));
}

void reply_status(RequestContext& context, const Status& status) {
  std::string body = render_json(status_json(status), context.output, *context.kinds);
  net::Headers headers = context.headers(rendered_type(body, context.output));
  if (status.retry_after_seconds > 0) headers.add("Retry-After", std::to_string(status.retry_after_seconds));
  if (status.is(Reason::unauthorized)) headers.add("WWW-Authenticate", "Bearer realm=\"sublet\"");
  context.record(status.http_code());
  context.sink->respond(status.http_code(), std::move(headers), std::move(body));
}

void reply(RequestContext& context, const Answer& answer) {
  if (!answer.object) return reply_json(context, answer.code, answer.json);
  if (answer.view) return reply_json(context, answer.code, answer.view(context, *answer.object));
  const ObjectWriter writer(*context.route, context.output);
  auto body = writer.object(*answer.object, context.core->clock.now());
  if (!body) return reply_status(context, body.error());
  reply_body(context, answer.code, writer.content_type(), std::move(*body));
}

}  // namespace sublet::apiserver
