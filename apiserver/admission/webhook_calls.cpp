// Admission webhooks (k8s.io/apiserver/pkg/admission/plugin/webhook): mutating ones are asked one after the other, each
// about what those before it have made; validating ones all at once.
#include <algorithm>

#include "apiserver/admission/admission_hooks.h"
#include "apiserver/admission/call_out.h"
#include "apiserver/admission/policy_activation.h"
#include "apiserver/admission/webhook_review.h"
#include "apiserver/authz/attributes.h"
#include "sublet/base/go_quoted.h"
#include "sublet/base/log.h"
#include "sublet/base/mutex.h"
#include "sublet/patches/patch.h"

namespace sublet::apiserver {
namespace {

using schema::Document;
using schema::Value;

// The whole request has this long; a webhook's own time is less.
constexpr std::chrono::minutes kRequestTime{10};

Status failed_calling(const Webhook& webhook, const std::string& reason) {
  return fail(Reason::internal_error,
              "Internal error occurred: failed calling webhook " + go_quoted(webhook.name) + ": " + reason)
      .value();
}

/// One webhook that is asked.
struct WebhookQuestion {
  std::shared_ptr<const Webhook> webhook;
  MatchedResource matched;
  std::string uid, body;
  std::shared_ptr<void> call;
  std::optional<Result<std::string>> answer;
};

// The reason why the webhook cannot be called, if any.
Outcome may_ask(const Webhook& webhook, const WriteContext& context) {
  if (context.dry_run && webhook.has_side_effects)
    return bad_request("admission webhook " + go_quoted(webhook.name) + " does not support dry run");
  return {};
}

class Questions final : public CallOut, public std::enable_shared_from_this<Questions> {
 public:
  Questions(WebhookCaller& caller, store::Snapshot state) : caller_(caller), state_(std::move(state)) {}

  void add(const AdmissionRequest& request, std::shared_ptr<const Webhook> webhook, const MatchedResource& matched) {
    WebhookQuestion question;
    question.webhook = std::move(webhook);
    question.matched = matched;
    question.uid = uuid_v4(request.attempt().context.random);
    const Document object = request.object_as(matched), old = request.old_as(matched);
    question.body = review_text(question.webhook->review_version, question.uid, request.document(matched).root(),
                                object.root(), old.root());
    questions_.push_back(std::move(question));
  }
  bool empty() const { return questions_.empty(); }

  void ask(SteadyTime) override {}
  bool ask_without_worker(SteadyTime deadline, std::function<void()> answered) override {
    {
      const MutexLock lock(mutex_);
      left_ = questions_.size();
      answered_ = std::move(answered);
    }
    const auto now = Clock::system().steady_now();
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - now);
    for (std::size_t i = 0; i < questions_.size(); ++i) {
      WebhookQuestion& question = questions_[i];
      const auto limit = std::min<std::chrono::milliseconds>(question.webhook->timeout, left);
      auto call = caller_.call(question.webhook->client, state_, std::move(question.body), limit,
                               [weak = weak_from_this(), i](Result<std::string> body) {
                                 if (const auto self = weak.lock()) self->take(i, std::move(body));
                               });
      const MutexLock lock(mutex_);
      question.call = std::move(call);
    }
    state_ = {};
    return true;
  }
  void cancel() override {
    std::vector<std::shared_ptr<void>> calls;  // end outside the lock
    const MutexLock lock(mutex_);
    for (WebhookQuestion& question : questions_) calls.push_back(std::move(question.call));
    answered_ = nullptr;
  }

  Outcome apply(const Attempt& attempt) override {
    const AdmissionRequest request(attempt);
    for (WebhookQuestion& question : questions_)
      if (auto judged = judge(request, question); !judged) return judged;
    return {};
  }

 private:
  void take(std::size_t index, Result<std::string> body) {
    std::function<void()> answered;
    {
      const MutexLock lock(mutex_);
      questions_[index].answer = std::move(body);
      if (--left_ == 0) answered = std::exchange(answered_, nullptr);
    }
    if (answered) answered();
  }

  Outcome judge(const AdmissionRequest& request, WebhookQuestion& question) {
    const Webhook& webhook = *question.webhook;
    const Attempt& attempt = request.attempt();
    if (!question.answer) return failed(webhook, "failed to call webhook: there is no answer");
    if (!*question.answer) return failed(webhook, "failed to call webhook: " + question.answer->error().message);
    auto answer =
        read_review({webhook.name, webhook.review_version, question.uid, webhook.mutating}, **question.answer);
    if (!answer) return failed(webhook, answer.error().message);
    for (auto& warning : answer->warnings) attempt.context.warnings.push_back(std::move(warning));
    if (!answer->allowed) return fail(std::move(answer->refusal));
    return webhook.mutating ? change(request, question, answer->patch.root()) : Outcome();
  }

  static Outcome failed(const Webhook& webhook, const std::string& reason) {
    if (!webhook.ignores_failures) return fail(failed_calling(webhook, reason));
    log::warning("admission.webhook_failed_open", {{"webhook", webhook.name}, {"cause", reason}});
    return {};
  }

  static Outcome change(const AdmissionRequest& request, const WebhookQuestion& question, const Value& patch) {
    const Webhook& webhook = *question.webhook;
    Reinvocation* rounds = request.attempt().rounds;
    bool changed = false;
    if (!patch.empty()) {
      const auto wrong = [](const std::string& why) {
        return fail(Reason::internal_error, "Internal error occurred: " + why);
      };
      if (request.attempt().verb == WriteVerb::remove)
        return wrong("admission webhook " + go_quoted(webhook.name) +
                     " attempted to modify the object, which is not supported for this operation");
      Document object = request.object_as(question.matched);
      if (auto applied = patches::apply_json_patch(object.root(), patch); !applied)
        return wrong(applied.error().message);
      auto taken = request.take(question.matched, object.root());
      if (!taken) return wrong(taken.error().message);
      changed = *taken;
    }
    if (!rounds) return {};
    if (changed) {
      rounds->webhooks.require();
      rounds->want();
    }
    if (webhook.reinvoke) rounds->webhooks.invoked(webhook.id);
    return {};
  }

  WebhookCaller& caller_;
  store::Snapshot state_;
  Mutex mutex_;
  std::vector<WebhookQuestion> questions_;  // answers and calls: guarded by the mutex until all have come
  std::size_t left_ SUBLET_GUARDED_BY(mutex_) = 0;
  std::function<void()> answered_ SUBLET_GUARDED_BY(mutex_);
};

// As which resource a webhook is to be asked; nullopt: it is not.
Result<std::optional<MatchedResource>> should_call(const AdmissionRequest& request, const Webhook& webhook) {
  auto matched = webhook.matching.match(request);
  if (!matched || !*matched || webhook.conditions.empty()) return matched;
  const PolicyInputs inputs(request, **matched);
  PolicyActivation activation(inputs, Value(), nullptr);
  const auto meets = webhook.conditions.match(activation);
  if (!meets) return fail(forbidden_request(request, meets.error().message));
  if (!*meets) return std::nullopt;
  return matched;
}

class Webhooks : public CallOutPlugin {
 public:
  std::chrono::milliseconds timeout() const override { return kRequestTime; }
};

class ValidatingWebhooks final : public Webhooks {
 public:
  std::string_view name() const override { return "ValidatingAdmissionWebhook"; }
  Kind kind() const override { return Kind::validating; }
  Result<std::shared_ptr<CallOut>> begin(const Attempt& attempt) const override {
    const auto hooks = current_hooks(attempt.context);
    if (!hooks || hooks->validating.empty()) return nullptr;
    const AdmissionRequest request(attempt);
    auto questions = std::make_shared<Questions>(attempt.context.hooks->caller(), attempt.context.pending);
    for (const auto& webhook : hooks->validating) {
      const auto matched = should_call(request, *webhook);
      if (!matched) return fail(matched.error());
      if (!*matched) continue;
      if (auto may = may_ask(*webhook, attempt.context); !may) return fail(may.error());
      questions->add(request, webhook, **matched);
    }
    return questions->empty() ? nullptr : std::shared_ptr<CallOut>(std::move(questions));
  }
};

// begin() is called again after each answer, until no webhook is left.
class MutatingWebhooks final : public Webhooks {
 public:
  std::string_view name() const override { return "MutatingAdmissionWebhook"; }
  Kind kind() const override { return Kind::mutating; }
  bool asks_again() const override { return true; }
  Result<std::shared_ptr<CallOut>> begin(const Attempt& attempt) const override {
    const auto hooks = current_hooks(attempt.context);
    if (!hooks || hooks->mutating.empty() || !attempt.rounds) return nullptr;
    const AdmissionRequest request(attempt);
    Reinvocation& rounds = *attempt.rounds;
    while (rounds.next_webhook < hooks->mutating.size()) {
      const auto& webhook = hooks->mutating[rounds.next_webhook++];
      const auto matched = should_call(request, *webhook);
      if (!matched) return fail(matched.error());
      if (!*matched || (rounds.second_round() && !rounds.webhooks.is_required(webhook->id))) continue;
      if (auto may = may_ask(*webhook, attempt.context); !may) return fail(may.error());
      auto question = std::make_shared<Questions>(attempt.context.hooks->caller(), attempt.context.pending);
      question->add(request, webhook, **matched);
      return question;
    }
    return nullptr;
  }
};

}  // namespace

const CallOutPlugin& mutating_webhooks() {
  static const MutatingWebhooks plugin;
  return plugin;
}

const CallOutPlugin& validating_webhooks() {
  static const ValidatingWebhooks plugin;
  return plugin;
}

}  // namespace sublet::apiserver
