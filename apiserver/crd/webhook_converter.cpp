// Map of this file: what a converted object must be, the objects at hand, one version, the question itself.
#include "apiserver/crd/webhook_converter.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <optional>
#include <unordered_map>

#include "apiserver/admission/admission_hooks.h"
#include "apiserver/codec/object_bytes.h"
#include "apiserver/crd/custom_kind.h"
#include "apiserver/crd/go_type.h"
#include "apiserver/request/server_core.h"
#include "apiserver/structural/prune.h"
#include "apiserver/validation/names.h"
#include "sublet/base/mutex.h"

namespace sublet::apiserver {
namespace {

using schema::Document;
using schema::Value;

constexpr std::string_view kApiExtensionsGroup = "apiextensions.k8s.io";

// As upstream answers what is no API error of its own.
tl::unexpected<Status> failed(std::string message) {
  Status status;
  status.code = 500;
  status.message = std::move(message);
  return fail(std::move(status));
}

// --- what a converted object must be ---

/// `what` is wrong with an object: the first of these, empty when none is.
std::string differs(const Value& in, const Value& out) {
  struct Row {
    const char *path, *name;
  };
  constexpr Row kRows[] = {
      {"kind", "kind"}, {"metadata.name", "name"}, {"metadata.namespace", "namespace"}, {"metadata.uid", "UID"}};
  for (const auto& [path, name] : kRows) {
    const auto wanted = in.path(path).text(), got = out.path(path).text();
    if (wanted != got)
      return "must have the same " + std::string(name) + ": " + std::string(wanted) + " != " + std::string(got);
  }
  return {};
}

std::string joined_causes(const Causes& causes) {
  std::string all;
  for (const auto& cause : causes) {
    if (!all.empty()) all += ", ";
    all += cause.field + ": " + cause.message;
  }
  return causes.size() > 1 ? "[" + all + "]" : all;
}

/// Labels or annotations as the webhook has them.
std::string take_map(Value metadata, const Value& answered, const char* name) {
  const Value map = answered[name];
  if (map.missing() || map.is_null()) {
    metadata.erase(name);
    return {};
  }
  if (!map.is_object())
    return "invalid metadata." + std::string(name) + " of type " + std::string(go_type(map)) + " in converted object";
  for (const Value value : map)
    if (!value.is_string())
      return "metadata." + std::string(name) + "[" + std::string(value.key()) + "] must be a string, but is " +
             std::string(go_type(value)) + " in converted object";
  if (!map.equals(metadata[name])) {
    Causes causes;
    if (std::string_view(name) == "labels")
      validate_labels(causes, "metadata.labels", map);
    else
      validate_annotations(causes, "metadata.annotation", map);
    if (!causes.empty()) return joined_causes(causes);
  }
  metadata.put(name, map);
  return {};
}

/// The metadata that went out, with the labels and annotations that came back.
std::string restore_metadata(const Value& in, Value out) {
  const Value answered = out["metadata"];
  if (answered.missing()) return "missing metadata in converted object";
  if (!answered.is_object())
    return "invalid metadata of type " + std::string(go_type(answered)) + " in converted object";
  const Document theirs = Document::copy_of(answered);
  Value metadata = out.put("metadata", in["metadata"]);
  for (const char* name : {"labels", "annotations"})
    if (auto wrong = take_map(metadata, theirs.root(), name); !wrong.empty()) return wrong;
  return {};
}

/// Makes of what the webhook answered what it may be; else says what is wrong, as it goes on behind "... returned ".
std::string accept(const Value& in, Value out, const std::string& api_version) {
  const auto version = out["apiVersion"].text();
  if (version != api_version)
    return "invalid object at index 0: invalid groupVersion (expected " + api_version + ", received " +
           std::string(version) + ")";
  if (out["kind"].text() != in["kind"].text())
    return "invalid object at index 0: invalid kind (expected " + in["kind"].string() + ", received " +
           out["kind"].string() + ")";
  if (auto wrong = differs(in, out); !wrong.empty()) return "invalid object: " + wrong;
  if (auto wrong = restore_metadata(in, out); !wrong.empty()) return "invalid metadata: " + wrong;
  return {};
}

// --- the objects at hand ---

/// What was converted lately, and what is held.
class AtHand {
 public:
  using Text = std::shared_ptr<const std::string>;

  /// Two states of an object may have the same revision (what is only shown), and one state two (what left a selection
  /// is sent at the revision of that).
  static std::string key_of(const store::Object& object) {
    return object.key + '\n' + std::to_string(object.bytes.size()) + '\n' +
           std::to_string(std::hash<std::string>{}(object.bytes));
  }
  Text find(const std::string& key) const {
    const MutexLock lock(mutex_);
    const auto found = texts_.find(key);
    return found == texts_.end() ? nullptr : found->second.lock();
  }
  void keep(std::string key, Text text) {
    const MutexLock lock(mutex_);
    bytes_ += text->size();
    texts_[std::move(key)] = text;
    recent_.push_back(std::move(text));
    for (; bytes_ > kBytesMax && recent_.size() > 1; recent_.pop_front()) bytes_ -= recent_.front()->size();
    if (texts_.size() < 2 * recent_.size() + kForgottenMax) return;
    std::erase_if(texts_, [](const auto& entry) { return entry.second.expired(); });
  }

 private:
  static constexpr std::size_t kBytesMax = 4u << 20, kForgottenMax = 256;
  mutable Mutex mutex_;
  std::unordered_map<std::string, std::weak_ptr<const std::string>> texts_ SUBLET_GUARDED_BY(mutex_);
  std::deque<Text> recent_ SUBLET_GUARDED_BY(mutex_);
  std::size_t bytes_ SUBLET_GUARDED_BY(mutex_) = 0;
};

}  // namespace

// --- one version ---

class WebhookConverter::ToVersion final : public WebhookConversion {
 public:
  ToVersion(std::shared_ptr<const WebhookConverter> converter, const std::string& version, const CustomKind& kind)
      : converter_(std::move(converter)), api_version_(converter_->group_ + "/" + version), kind_(kind) {}

  bool asks() const override {
    return api_version_ != converter_->stored_ || converter_->stored_otherwise_.load(std::memory_order_relaxed);
  }

  Result<Document> read(const store::Object& object) const override {
    auto document = typed(object);
    if (!document || (*document)["apiVersion"].text() == api_version_) return document;
    const std::string key = AtHand::key_of(object);
    if (const auto text = at_hand_.find(key)) return of_revision(object, *text);
    if (auto converted = convert(document->root()); !converted) return fail(converted.error());
    at_hand_.keep(key, std::make_shared<const std::string>(document->to_json()));
    return document;
  }

  Outcome convert(Value object) const override {
    if (object["apiVersion"].text() == api_version_) return {};
    if (!MayWait::here()) {
      MayWait::miss();
      converter_->stored_otherwise_ = true;  // so the next request waits for it elsewhere
      return fail(Reason::server_timeout, "the object must be converted to " + api_version_ + "; please try again");
    }
    std::vector<Document> one;
    one.push_back(Document::copy_of(object));
    auto converted = converter_->convert(one, api_version_);
    if (!converted) return fail(converted.error());
    object.set(converted->front().root());
    return {};
  }

  bool at_hand(const store::Object& object) const override {
    return is_stored_in(object) || at_hand_.find(AtHand::key_of(object));
  }

  Result<std::shared_ptr<const void>> prepare(std::span<const store::Object* const> objects) const override {
    const auto held = std::make_shared<std::vector<AtHand::Text>>();
    std::vector<Document> asked;
    std::vector<std::string> keys;
    std::size_t bytes = 0;
    for (const store::Object* object : objects) {
      if (is_stored_in(*object)) continue;
      std::string key = AtHand::key_of(*object);
      if (auto text = at_hand_.find(key)) {
        held->push_back(std::move(text));
        continue;
      }
      auto document = typed(*object);
      if (!document) return fail(document.error());
      asked.push_back(std::move(*document));
      keys.push_back(std::move(key));
      bytes += object->bytes.size();
      if (bytes < kReviewBytes && asked.size() < kReviewObjects) continue;
      if (auto taken = convert_all(asked, keys, *held); !taken) return fail(taken.error());
      bytes = 0;
    }
    if (auto taken = convert_all(asked, keys, *held); !taken) return fail(taken.error());
    return std::shared_ptr<const void>(held);
  }

 private:
  std::string version_of(std::string& text) const {
    std::string version = take_version(text);
    return version.empty() ? converter_->unreported_ : version;
  }
  bool is_stored_in(const store::Object& object) const {
    std::string end = object.bytes.substr(object.bytes.size() - std::min<std::size_t>(object.bytes.size(), 512));
    return version_of(end) == api_version_;
  }
  static Result<Document> of_revision(const store::Object& object, const std::string& text) {
    auto document = Document::parse_json(text);
    if (document && object.hole != store::Object::kNoHole)
      document->root()["metadata"].put("resourceVersion", std::to_string(object.revision));
    return document;
  }
  /// As it is stored, with kind and apiVersion in front and what its version has by default.
  Result<Document> typed(const store::Object& object) const {
    std::string text = object.json();
    const std::string version = version_of(text);
    text.insert(1, R"("apiVersion":")" + version + R"(","kind":")" + converter_->kind_ + "\",");
    auto document = Document::parse_json(text);
    if (document) apply_schema_defaults(document->root(), kind_.schema(version.substr(version.find('/') + 1)));
    return document;
  }
  Outcome convert_all(std::vector<Document>& asked, std::vector<std::string>& keys,
                      std::vector<AtHand::Text>& held) const {
    if (asked.empty()) return {};
    auto converted = converter_->convert(asked, api_version_);
    if (!converted) return fail(converted.error());
    for (std::size_t i = 0; i < converted->size(); ++i) {
      held.push_back(std::make_shared<const std::string>((*converted)[i].to_json()));
      at_hand_.keep(std::move(keys[i]), held.back());
    }
    asked.clear();
    keys.clear();
    return {};
  }

  const std::shared_ptr<const WebhookConverter> converter_;
  const std::string api_version_;
  const CustomKind& kind_;
  mutable AtHand at_hand_;
};

// --- the question ---

WebhookConverter::WebhookConverter(ServerCore& core, const Definition& definition, const Value& object)
    : core_(core),
      group_(definition.group),
      kind_(definition.names.kind),
      stored_(definition.group + "/" + definition.stored().name) {
  const Value webhook = object["spec"]["conversion"]["webhook"], versions = object["status"]["storedVersions"];
  for (const Value version : webhook["conversionReviewVersions"]) {
    if (version.text() != "v1" && version.text() != "v1beta1") continue;
    review_version_ = version.string();
    break;
  }
  client_ = WebhookClient::read(webhook["clientConfig"]);
  // They were written before a webhook was named, when there was one version most likely.
  unreported_ = versions.empty() ? stored_ : group_ + "/" + versions.at(0).string();
  for (const Value version : versions)
    if (group_ + "/" + version.string() != stored_) stored_otherwise_ = true;
}

std::shared_ptr<const WebhookConverter> WebhookConverter::make(ServerCore& core, const Definition& definition,
                                                               const Value& object) {
  if (!definition.by_webhook) return nullptr;
  return std::shared_ptr<const WebhookConverter>(new WebhookConverter(core, definition, object));
}

std::unique_ptr<const WebhookConversion> WebhookConverter::to_version(const std::string& version,
                                                                      const CustomKind& kind) const {
  return std::make_unique<const ToVersion>(shared_from_this(), version, kind);
}

namespace {

/// A thread that waits for an answer; a server that stops does not wake it, so it polls for that.
class PendingAnswer {
 public:
  void answer(Result<std::string> body) {
    const MutexLock lock(mutex_);
    answer_ = std::move(body);
    answered_.notify_all();
  }
  Result<std::string> wait(const std::atomic<bool>& stopping) {
    constexpr std::chrono::milliseconds kLook{100};
    MutexLock lock(mutex_);
    while (!answer_) {
      if (stopping) return fail(Reason::service_unavailable, "the server is shutting down");
      answered_.wait_for(lock, kLook, [this]() SUBLET_REQUIRES(mutex_) { return answer_.has_value(); });
    }
    return std::move(*answer_);
  }

 private:
  Mutex mutex_;
  CondVar answered_;
  std::optional<Result<std::string>> answer_ SUBLET_GUARDED_BY(mutex_);
};

std::string review_of(const std::vector<Document>& objects, const std::string& version, const std::string& api_version,
                      const std::string& uid) {
  std::string body = R"({"kind":"ConversionReview","apiVersion":")" + std::string(kApiExtensionsGroup) + "/" + version +
                     R"(","request":{"uid":")" + uid + R"(","desiredAPIVersion":")" + api_version + R"(","objects":[)";
  for (std::size_t i = 0; i < objects.size(); ++i) {
    if (i > 0) body += ',';
    objects[i].root().append_json(body);
  }
  return body + "]}}";
}

/// What is wrong with a review's answer; empty: nothing.
std::string problem_of(const Value& review, const std::string& version, const std::string& uid) {
  if (version == "v1") {  // v1beta1 was never so strict
    const std::string wanted = std::string(kApiExtensionsGroup) + "/v1";
    std::string got = review["apiVersion"].string();
    if (got.find('/') == std::string::npos) got.insert(0, "/");
    if (got != wanted || review["kind"].text() != "ConversionReview")
      return "expected webhook response of " + wanted + ", Kind=ConversionReview, got " + got +
             ", Kind=" + review["kind"].string();
  }
  const Value response = review["response"];
  if (!response.is_object()) return "no response provided";
  if (version == "v1" && response["uid"].text() != uid)
    return "expected response.uid=\"" + uid + "\", got \"" + response["uid"].string() + "\"";
  const Value result = response["result"];
  if (result["status"].text() == "Success") return {};
  if (!result["message"].text().empty()) return result["message"].string();
  return "response.result.status was '" + result["status"].string() + "', not 'Success'";
}

}  // namespace

Result<std::string> WebhookConverter::ask(const std::string& body) const {
  const auto waiting = std::make_shared<PendingAnswer>();
  const auto call =
      core_.hooks.caller().call(client_, core_.store.snapshot(), body, kTimeout,
                                [waiting](Result<std::string> answer) { waiting->answer(std::move(answer)); });
  return waiting->wait(core_.stopping);
}

Result<std::vector<Document>> WebhookConverter::convert(const std::vector<Document>& objects,
                                                        const std::string& api_version) const {
  if (review_version_.empty()) return failed("no supported conversion review versions");
  const std::string about =
      "conversion webhook for " + objects.front()["apiVersion"].string() + ", Kind=" + objects.front()["kind"].string();
  const std::string uid = uuid_v4(core_.random);
  const auto answer = ask(review_of(objects, review_version_, api_version, uid));
  if (!answer) return failed(about + " failed: " + answer.error().message);
  const auto review = Document::parse_json(*answer);
  if (!review) return failed(about + " failed: " + review.error().message);
  if (auto problem = problem_of(review->root(), review_version_, uid); !problem.empty())
    return failed(about + " failed: " + problem);
  const Value converted = (*review)["response"]["convertedObjects"];
  if (converted.size() != objects.size())
    return failed(about + " returned " + std::to_string(converted.size()) + " objects, expected " +
                  std::to_string(objects.size()));
  std::vector<Document> all;
  for (const Value object : converted) {
    const Value in = objects[all.size()].root();
    all.push_back(Document::copy_of(object));
    if (auto wrong = accept(in, all.back().root(), api_version); !wrong.empty())
      return failed(about + " returned " + wrong);
  }
  return all;
}

}  // namespace sublet::apiserver
