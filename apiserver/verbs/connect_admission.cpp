#include "apiserver/verbs/connect_admission.h"

#include <charconv>

#include "apiserver/admission/admission_hooks.h"
#include "apiserver/verbs/phases.h"
#include "apiserver/verbs/pod_proxy.h"
#include "sublet/kube/pod_proxy.h"

namespace sublet::apiserver {
namespace {

using schema::Document;
using schema::Value;

constexpr std::string_view kPortForward = "portforward", kPathOption = "path";
constexpr std::string_view kStreamOptions[] = {"stdin", "stdout", "stderr", "tty"};

class ConnectRun final : public WriteRun {
 public:
  ConnectRun(const ContextPtr& context, Document options, std::function<void(const Value& changed)> then)
      : WriteRun(context), context_(context), options_(std::move(options)), then_(std::move(then)) {}

 private:
  Result<Draft> draft(Write&) override {
    Draft draft = {};
    draft.verb = WriteVerb::connect;
    draft.object = options_.clone();
    return draft;
  }
  Result<Plan> plan(Write&, Draft& draft) override {
    admitted_ = std::move(draft.object);
    return Plan();
  }
  void finish(const Result<Answer>& answer) override {
    if (!answer) return reply_status(*context_, answer.error());
    then_(admitted_.root().equals(options_.root()) ? Value() : admitted_.root());
  }

  const ContextPtr context_;
  const Document options_;
  Document admitted_;
  const std::function<void(const Value& changed)> then_;
};

}  // namespace

Document connect_options(const RequestContext& context) {
  Document document = Document::object();
  Value options = document.root();
  const std::string& subresource = context.info.subresource;
  if (subresource == kube::kProxySubresource) {
    const auto path = split_at_proxy(context.request.path()).second;
    if (!path.empty()) options.put(kPathOption, net::percent_decode(path).value_or(std::string(path)));
  } else if (subresource == kPortForward) {
    std::int64_t number = 0;
    for (const auto port : context.query.all("ports"))
      if (std::from_chars(port.data(), port.data() + port.size(), number).ec == std::errc())
        options.array("ports").push(number);
  } else {
    for (const auto stream : kStreamOptions)
      if (context.query.flag(stream)) options.put(stream, true);
    if (const auto container = context.query.get("container"); !container.empty()) options.put("container", container);
    for (const auto word : context.query.all("command")) options.array("command").push(word);
  }
  return document;
}

std::string query_of_options(const Value& options) {
  std::string query;
  const auto add = [&query](std::string_view name, std::string_view value) {
    query.append(query.empty() ? "" : "&").append(name).append("=").append(net::percent_encode(value));
  };
  for (const Value option : options) {
    if (option.is_array())
      for (const Value entry : option) add(option.key(), entry.is_string() ? entry.string() : entry.to_json());
    else if (option.is_string())
      add(option.key(), option.text());
    else if (option.boolean())
      add(option.key(), "true");
  }
  return query;
}

void admit_connect(const ContextPtr& context, std::function<void(const Value& changed)> then) {
  if (!context->core->hooks.current() && context->core->options.call_outs.empty()) return then(Value());
  std::make_shared<ConnectRun>(context, connect_options(*context), std::move(then))->start();
}

}  // namespace sublet::apiserver
