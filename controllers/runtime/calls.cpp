#include "controllers/runtime/calls.h"

#include <algorithm>
#include <latch>
#include <memory>

namespace sublet::controllers {
namespace {

constexpr std::size_t kInFlightMax = 64;

class Answer final : public net::ResponseObserver {
 public:
  explicit Answer(std::latch& all) : all_(all) {}
  void on_head(int code, const net::Headers&) override { code_ = code; }
  void on_body(std::string_view chunk) override { body_.append(chunk); }
  void on_end(Outcome outcome) override {
    outcome_ = std::move(outcome);
    all_.count_down();
  }

  Result<schema::Document> take() const {
    if (!outcome_) return fail(outcome_.error());
    auto document = schema::Document::parse_json(body_);
    if (code_ >= 200 && code_ < 300) return document;
    if (document) return fail(kube::status_from_document(document->root(), code_));
    return fail(reason_from_http_code(code_), body_);
  }

 private:
  std::latch& all_;
  int code_ = 0;
  std::string body_;
  Outcome outcome_;
};

}  // namespace

std::vector<Result<schema::Document>> call_all(std::vector<Call> calls) {
  std::vector<Result<schema::Document>> results;
  results.reserve(calls.size());
  for (std::size_t at = 0; at < calls.size(); at += kInFlightMax) {
    const auto end = std::min(calls.size(), at + kInFlightMax);
    std::latch all(static_cast<std::ptrdiff_t>(end - at));
    std::vector<std::shared_ptr<Answer>> answers;
    std::vector<std::unique_ptr<net::Exchange>> exchanges;
    for (auto i = at; i < end; ++i) {
      const auto& client = *calls[i].client;
      answers.push_back(std::make_shared<Answer>(all));
      exchanges.push_back(
          client.transport().start(std::move(calls[i].request), answers.back(), client.options().timeout));
    }
    all.wait();
    exchanges.clear();  // nothing of them runs any more when the latch goes
    for (const auto& answer : answers) results.push_back(answer->take());
  }
  return results;
}

std::vector<Result<schema::Document>> call_all(const kube::Client& client, std::vector<net::Request> requests) {
  std::vector<Call> calls;
  calls.reserve(requests.size());
  for (auto& request : requests) calls.push_back({&client, std::move(request)});
  return call_all(std::move(calls));
}

bool is_namespace_ending(const Status& status) {
  return std::any_of(status.causes.begin(), status.causes.end(),
                     [](const Cause& cause) { return cause.reason == "NamespaceTerminating"; });
}

}  // namespace sublet::controllers
