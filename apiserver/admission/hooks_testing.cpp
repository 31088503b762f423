#include "apiserver/admission/hooks_testing.h"

#include <gtest/gtest.h>

#include "sublet/schema/engine.h"

namespace sublet::apiserver {

HookServer::HookServer()
    : server_(
          "hook",
          [this](const net::Request& request, const std::shared_ptr<net::ResponseSink>& sink) { serve(request, sink); },
          "hook.test.svc"),
      ca_bundle_(schema::base64_encode(server_.ca_pem())) {}

HookServer::~HookServer() { server_.stop(); }

void HookServer::on(const std::string& path, Answer answer) {
  const MutexLock lock(mutex_);
  answers_[path] = std::move(answer);
}

std::vector<schema::Document> HookServer::asked(const std::string& path) {
  const MutexLock lock(mutex_);
  std::vector<schema::Document> documents;
  for (const auto& body : asked_[path]) documents.push_back(schema::Document::parse_json(body).value());
  return documents;
}

void HookServer::wait_asked(const std::string& path, std::size_t count) {
  MutexLock lock(mutex_);
  changed_.wait(lock, [&]() SUBLET_REQUIRES(mutex_) { return asked_[path].size() >= count; });
}

void HookServer::serve(const net::Request& request, const std::shared_ptr<net::ResponseSink>& sink) {
  const std::string path(request.path());
  const auto review = schema::Document::parse_json(request.body);
  Answer answer;
  {
    const MutexLock lock(mutex_);
    asked_[path].push_back(request.body);
    if (const auto found = answers_.find(path); found != answers_.end()) answer = found->second;
    changed_.notify_all();
  }
  if (!answer || !review) return sink->respond(404, {}, "nobody is here");
  const schema::Value asked = review->root()["request"];
  const std::string members = answer(asked);
  if (members == "hang") {
    const MutexLock lock(mutex_);
    held_.push_back(sink);
    return;
  }
  if (members.starts_with("raw ")) return sink->respond(200, {}, members.substr(4));
  const std::string body = R"({"kind":")" + review->root()["kind"].string() + R"(","apiVersion":")" +
                           review->root()["apiVersion"].string() + R"(","response":{"uid":")" + asked["uid"].string() +
                           "\"," + members + "}}";
  sink->respond(200, {{"Content-Type", "application/json"}}, body);
}

ServerOptions HookServer::options() {
  ServerOptions options;
  options.outbound.rules.allow(net::AddressRange::parse("127.0.0.0/8").value());
  return options;
}

std::string patch_answer(const std::string& patch) {
  return R"("allowed":true,"patchType":"JSONPatch","patch":")" + schema::base64_encode(patch) + "\"";
}

}  // namespace sublet::apiserver
