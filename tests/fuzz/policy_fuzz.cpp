// Admission policies, which are a tenant's, on a whole server: whatever is stored of one, the writes that it is asked
// about are answered (never 5xx), the same write twice alike; one that only judges changes nothing, and what one that
// changes has made of an object is a sound one of its kind. The types of what was stored are checked, too.
// Lines: the policy, its binding, a ConfigMap that is created, one that it is then changed to; all but the first may be
// empty. Names are ours.
#include <memory>

#include "patch_input.h"
#include "sublet/apiserver/policy_types.h"
#include "sublet/apiserver/server.h"
#include "sublet/schema/engine.h"
#include "sublet/store/memory_log.h"

namespace {

using namespace sublet;
using schema::Document;
using schema::Value;

constexpr std::string_view kAdmission = "/apis/admissionregistration.k8s.io/v1/";
constexpr std::string_view kObjects = "/api/v1/namespaces/default/configmaps";

void promise(bool kept, std::string_view what, std::string_view said) {
  if (kept) return;
  std::fprintf(stderr, "broken: %.*s: %.2000s\n", static_cast<int>(what.size()), what.data(),
               std::string(said).c_str());
  std::abort();
}

struct Reply {
  int code = 0;
  std::string body;
};

class World {
 public:
  World() {
    apiserver::ServerOptions options;
    options.bootstrap_rights = false;
    server_ = std::make_unique<apiserver::Server>(*store_, loop_.loop(), std::move(options));
    promise(server_->start().has_value(), "the server starts", "");
    net::PeerIdentity identity;
    identity.kind = net::PeerIdentity::Kind::in_process;
    transport_ = net::make_in_process_transport(server_->handler(), identity, &loop_.loop());
  }
  ~World() {
    server_->stop();
    store_->close();
  }
  Reply call(std::string method, std::string target, std::string body = {}) {
    net::Request request;
    request.method = std::move(method);
    request.target = std::move(target);
    if (!body.empty()) request.headers.add("Content-Type", "application/json");
    request.body = std::move(body);
    auto response = net::fetch(*transport_, std::move(request), std::chrono::minutes(2));
    promise(response.has_value(), "there is an answer", response ? "" : response.error().message);
    promise(response->code < 500, "the fault is not the server's", response->body);
    return {response->code, std::move(response->body)};
  }
  std::shared_ptr<const schema::Registry> kinds() const { return server_->kinds(); }

 private:
  std::unique_ptr<store::Store> store_ = std::move(*store::Store::open(store::make_memory_log()));
  net::LoopThread loop_{"fuzz-policies"};
  std::unique_ptr<apiserver::Server> server_;
  std::unique_ptr<net::Transport> transport_;
};

/// The log in memory keeps every revision: a new world now and then.
World& world() {
  constexpr int kLife = 400;
  static int turns = 0;
  static std::unique_ptr<World> one;
  if (turns++ % kLife == 0) {
    one.reset();
    one = std::make_unique<World>();
  }
  return *one;
}

/// Without what is another each time.
std::string lasting(const std::string& body) {
  auto document = Document::parse_json(body);
  if (!document) return body;
  auto metadata = (*document)["metadata"];
  for (const auto member : {"uid", "creationTimestamp", "managedFields", "resourceVersion"}) metadata.erase(member);
  return document->to_json();
}

/// The answer to a write that is tried twice and leaves nothing.
Reply tried(World& world, const std::string& method, const std::string& target, const std::string& body, bool alike) {
  const std::string dry = target + "?dryRun=All";
  Reply first = world.call(method, dry, body);
  if (alike) {
    const Reply second = world.call(method, dry, body);
    promise(first.code == second.code && lasting(first.body) == lasting(second.body), "the same again",
            first.body + "\n" + second.body);
  }
  return first;
}

void check_object(const World& world, const Reply& reply) {
  if (reply.code >= 300) return;
  auto object = Document::parse_json(reply.body);
  promise(object.has_value(), "an object is JSON", reply.body);
  fuzz::check_sound(*object);
  const std::string before = object->to_json();
  promise(schema::conform(object->root(), world.kinds()->find_kind("", "v1", "ConfigMap")) &&
              object->to_json() == before && (*object)["kind"].text() == "ConfigMap",
          "it has its kind's form", reply.body);
}

Document named(const Document& object, const char* name) {
  Document other = object.clone();
  other.root().object("metadata").put("name", name);
  return other;
}

std::optional<Document> object_of(std::string_view line, const char* name) {
  const auto document = Document::parse_json(line);
  if (!document || !document->root().is_object()) return std::nullopt;
  return named(*document, name);
}

struct Input {
  std::optional<Document> policy, binding, object, changed;
  bool mutating = false;
};

Input read(std::string_view text) {
  const auto next = [&text] {
    const auto line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    return line;
  };
  Input input;
  input.policy = object_of(next(), "p");
  if (!input.policy) return input;
  input.mutating = (*input.policy)["kind"].text() == "MutatingAdmissionPolicy";
  input.binding = object_of(next(), "b");
  if (input.binding) input.binding->root().object("spec").put("policyName", "p");
  input.object = object_of(next(), "o");
  input.changed = object_of(next(), "c");
  return input;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  const Input input = read(text);
  if (!input.policy) return 0;
  World& server = world();
  const std::string policies =
      std::string(kAdmission) + (input.mutating ? "mutating" : "validating") + "admissionpolicies";
  const std::string bindings = policies.substr(0, policies.size() - 3) + "ybindings";
  const std::string objects(kObjects), changing = objects + "/c";
  const Reply plain = input.object ? tried(server, "POST", objects, input.object->to_json(), false) : Reply();
  const bool changes = plain.code == 201 && input.changed &&
                       server.call("POST", objects, named(*input.object, "c").to_json()).code == 201;
  const Reply plain_change = changes ? tried(server, "PUT", changing, input.changed->to_json(), false) : Reply();

  const bool stored = server.call("POST", policies, input.policy->to_json()).code == 201;
  if (stored && !input.mutating)
    for (const auto& warning : apiserver::check_policy_types(input.policy->root(), *server.kinds()))
      promise(!warning.field.empty() && !warning.warning.empty(), "a warning says where and what", text);
  const bool bound = input.binding && server.call("POST", bindings, input.binding->to_json()).code == 201;
  // What sees when or under which uid it runs may say another thing each time.
  const bool alike =
      text.find("uid") == text.npos && text.find("Timestamp") == text.npos && text.find("managed") == text.npos;
  const auto hold = [&](const std::string& method, const std::string& target, const Document& sent,
                        const Reply& before) {
    const Reply after = tried(server, method, target, sent.to_json(), alike);
    check_object(server, after);
    if (!stored || !bound)
      promise(after.code == before.code, "who is not bound says nothing", after.body);
    else if (input.mutating)
      return;  // it comes before what an object is refused for: it may mend that, and refuse by itself
    else if (before.code >= 300)
      promise(after.code == before.code, "a judge is not asked about what is refused", after.body);
    else if (after.code < 300)
      promise(lasting(after.body) == lasting(before.body), "a judge changes nothing", after.body);
  };
  if (input.object) hold("POST", objects, *input.object, plain);
  if (changes) hold("PUT", changing, *input.changed, plain_change);
  if (bound) server.call("DELETE", bindings + "/b");
  if (stored) server.call("DELETE", policies + "/p");
  if (changes) server.call("DELETE", changing);
  return 0;
}
