#include "apiserver/server_testing.h"

#include <gtest/gtest.h>

namespace sublet::apiserver {
namespace {

constexpr std::chrono::seconds kPatience{60};

net::PeerIdentity test_identity() {
  net::PeerIdentity identity;
  identity.kind = net::PeerIdentity::Kind::in_process;
  identity.common_name = "tester";
  return identity;
}

net::Request request_of(std::string method, std::string target, std::string body, net::Headers headers) {
  net::Request request;
  request.method = std::move(method);
  request.target = std::move(target);
  request.body = std::move(body);
  request.headers = std::move(headers);
  return request;
}

}  // namespace

void Tap::on_head(int code, const net::Headers&) {
  const MutexLock lock(mutex_);
  code_ = code;
  changed_.notify_all();
}

void Tap::on_body(std::string_view chunk) {
  const MutexLock lock(mutex_);
  raw_ += chunk;
  partial_ += chunk;
  for (auto end = partial_.find('\n'); end != std::string::npos; end = partial_.find('\n')) {
    lines_.push_back(partial_.substr(0, end));
    partial_.erase(0, end + 1);
  }
  changed_.notify_all();
}

void Tap::on_end(Outcome) {
  const MutexLock lock(mutex_);
  over_ = true;
  changed_.notify_all();
}

schema::Document Tap::event(std::size_t n) {
  MutexLock lock(mutex_);
  changed_.wait_for(lock, kPatience, [&]() SUBLET_REQUIRES(mutex_) { return lines_.size() > n || over_; });
  if (lines_.size() <= n) return {};
  auto document = schema::Document::parse_json(lines_[n]);
  EXPECT_TRUE(document) << lines_[n];
  return document ? std::move(*document) : schema::Document();
}

bool Tap::ended(std::chrono::seconds limit) {
  MutexLock lock(mutex_);
  return changed_.wait_for(lock, limit, [&]() SUBLET_REQUIRES(mutex_) { return over_; });
}

std::size_t Tap::count() {
  const MutexLock lock(mutex_);
  return lines_.size();
}

int Tap::code() {
  MutexLock lock(mutex_);
  changed_.wait_for(lock, kPatience, [&]() SUBLET_REQUIRES(mutex_) { return code_ != 0; });
  return code_;
}

std::string Tap::raw() {
  const MutexLock lock(mutex_);
  return raw_;
}

Rig::Rig(store::StoreOptions store_options, ServerOptions options, std::unique_ptr<store::Log> log)
    : loop_("test-api") {
  options.bootstrap_rights = false;
  start(std::move(store_options), std::move(options), std::move(log));
}

Rig::Rig(ServerOptions options, WithRights) : loop_("test-api") {
  start({}, std::move(options), store::make_memory_log());
}

Rig::Rig(ServerOptions options, Clock& clock) : loop_("test-api") {
  options.bootstrap_rights = false;
  start({}, std::move(options), store::make_memory_log(), clock);
}

void Rig::start(store::StoreOptions store_options, ServerOptions options, std::unique_ptr<store::Log> log,
                Clock& clock) {
  auto store = store::Store::open(std::move(log), std::move(store_options));
  EXPECT_TRUE(store);
  store_ = std::move(*store);
  server_ = std::make_unique<Server>(*store_, loop_.loop(), std::move(options), clock);
  const auto started = server_->start();
  EXPECT_TRUE(started) << started.error().message;
  transport_ = net::make_in_process_transport(server_->handler(), test_identity(), &loop_.loop());
  EXPECT_EQ(post("/api/v1/namespaces", R"({"metadata":{"name":"test"}})").code, 201);
}

Rig::~Rig() {
  server_->stop();
  store_->close();
}

Reply Rig::call(std::string method, std::string target, std::string body, net::Headers headers) {
  if (!body.empty() && !headers.has("Content-Type")) headers.add("Content-Type", std::string(kJson));
  auto response = net::fetch(
      *transport_, request_of(std::move(method), std::move(target), std::move(body), std::move(headers)), kPatience);
  Reply reply;
  EXPECT_TRUE(response) << response.error().message;
  if (!response) return reply;
  reply.code = response->code;
  reply.headers = std::move(response->headers);
  reply.body = std::move(response->body);
  if (reply.headers.get("Content-Type").starts_with(kJson))
    if (auto document = schema::Document::parse_json(reply.body)) reply.json = std::move(*document);
  return reply;
}

Reply Rig::patch(std::string target, std::string_view type, std::string body) {
  return call("PATCH", std::move(target), std::move(body),
              {{"Content-Type", "application/" + std::string(type) + "+json"}});
}

Reply Rig::call_as(const std::string& user, std::string method, std::string target, std::string body) {
  return call(std::move(method), std::move(target), std::move(body), {{"Impersonate-User", user}});
}

Watching Rig::watch(std::string target, net::Headers headers) {
  return begin("GET", std::move(target), {}, std::move(headers));
}

Watching Rig::begin(std::string method, std::string target, std::string body, net::Headers headers) {
  if (!body.empty() && !headers.has("Content-Type")) headers.add("Content-Type", std::string(kJson));
  Watching watching;
  watching.tap = std::make_shared<Tap>();
  watching.exchange =
      transport_->start(request_of(std::move(method), std::move(target), std::move(body), std::move(headers)),
                        watching.tap, std::chrono::milliseconds(0));
  for (int i = 0; i < 2; ++i) loop_.loop().run_sync([] {});  // the handler's turn, then that of what it answered
  return watching;
}

Reply Rig::make_config_map(const std::string& name, const std::string& value, const std::string& labels) {
  return post(kConfigMaps, R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":")" + name + R"(","labels":)" +
                               labels + R"(},"data":{"k":")" + value + "\"}}");
}

}  // namespace sublet::apiserver
