// Secrets of type kubernetes.io/service-account-token: given a token of the ServiceAccount that they name, the CA and
// their namespace; removed with the account. An account that lists one in its secrets loses the entry with the Secret.
// Unlike upstream's, the token is made by the API (serviceaccounts/token), bound to the Secret, so that it ends with
// the Secret; that it runs out in 136 years is the longest that can be asked for. Source:
// pkg/controller/serviceaccount/tokens_controller.go of Kubernetes.

#include "controllers/runtime/calls.h"
#include "controllers/runtime/kinds.h"
#include "controllers/runtime/object_ref.h"
#include "sublet/controllers/controller.h"
#include "sublet/controllers/controllers.h"
#include "sublet/kube/json_scan.h"
#include "sublet/schema/engine.h"

namespace sublet::controllers {
namespace {

using schema::Document;
using schema::Value;

constexpr std::string_view kType = "\"kubernetes.io/service-account-token\"";
constexpr std::string_view kAccountName = "kubernetes.io/service-account.name",
                           kAccountUid = "kubernetes.io/service-account.uid";
constexpr std::int64_t kLongestToken = std::int64_t{1} << 32;
constexpr std::string_view kSecretKey = "secret/", kAccountKey = "account/";

bool is_token(const store::Object& secret) { return raw_of(secret, {"type"}) == kType; }
std::string account_named_by(const store::Object& secret) {
  return kube::json_unquote(raw_of(secret, {"metadata", "annotations", kAccountName}));
}

class ServiceAccountTokensController final : public Controller {
 public:
  explicit ServiceAccountTokensController(Context& context)
      : context_(context), secrets_(context.lister(kSecrets)), accounts_(context.lister(kServiceAccounts)) {}

  // A secret's key carries its account: it is unknown once the secret is gone.
  void start() override {
    context_.on_change(kSecrets, [this](const Change& change) {
      const auto& secret = change.object();
      if (is_token(secret)) context_.enqueue(std::string(kSecretKey) + key_of(secret) + "/" + account_named_by(secret));
    });
    context_.on_change(kServiceAccounts, [this](const Change& change) {
      if (change.before && (!change.after || change.after->index.uid != change.before->index.uid))
        context_.enqueue(std::string(kAccountKey) + key_of(*change.before));
    });
  }

  Outcome reconcile(const std::string& key) override {
    if (key.starts_with(kAccountKey)) return sweep(parts_of(key.substr(kAccountKey.size())));
    const auto end = key.rfind('/');
    const auto parts = parts_of(key.substr(kSecretKey.size(), end - kSecretKey.size()));
    const auto secret = secrets_.get(parts.namespace_name, parts.name);
    if (!secret || !is_token(*secret)) return forget(parts, key.substr(end + 1));
    return judge(*secret);
  }

 private:
  /// The tokens of an account that is gone.
  Outcome sweep(const KeyParts& account) {
    for (const auto& secret : secrets_.list(account.namespace_name))
      if (is_token(*secret) && account_named_by(*secret) == account.name)
        if (auto judged = judge(*secret); !judged) return judged;
    return {};
  }

  Outcome judge(const store::Object& stored) {
    if (is_ending(stored)) return {};
    const auto secret = document_of(stored);
    const auto account = accounts_.get(namespace_of(stored), account_named_by(stored));
    const auto uid = secret["metadata"]["annotations"][kAccountUid].text();
    if (account && (uid.empty() || uid == account->index.uid)) return fill(stored, secret.root(), *account);
    kube::DeleteOptions options;
    options.uid = stored.index.uid;
    return settled(context_.client().remove(kSecrets, namespace_of(stored), name_of(stored), options),
                   {Reason::not_found, Reason::conflict});
  }

  Outcome fill(const store::Object& stored, const Value& secret, const store::Object& account) {
    const auto& pem = context_.options().cluster.ca_certificate_pem;
    const auto authority = schema::base64_encode(pem);
    const auto have = secret["data"];
    auto patch = Document::object();
    auto data = patch.root().object("data");
    if (!pem.empty() && have["ca.crt"].text() != authority) data.put("ca.crt", authority);
    if (have["namespace"].text().empty()) data.put("namespace", schema::base64_encode(namespace_of(stored)));
    if (have["token"].text().empty()) {
      auto token = make_token(stored, account);
      if (!token) return settled(token);
      data.put("token", schema::base64_encode(*token));
    }
    if (data.empty()) return {};
    auto metadata = patch.root().object("metadata");
    metadata.put("uid", stored.index.uid);
    metadata.put("resourceVersion", std::to_string(stored.revision));
    metadata.object("annotations").put(kAccountUid, account.index.uid);
    // Another client wrote it: that change brings the key back.
    return settled(context_.client().patch(kSecrets, namespace_of(stored), name_of(stored), kube::PatchType::merge,
                                           patch.to_json()),
                   {Reason::not_found, Reason::conflict});
  }

  Result<std::string> make_token(const store::Object& secret, const store::Object& account) {
    auto request = Document::object();
    auto spec = request.root().object("spec");
    spec.put("expirationSeconds", kLongestToken);
    auto bond = spec.object("boundObjectRef");
    bond.put("apiVersion", "v1");
    bond.put("kind", "Secret");
    bond.put("name", name_of(secret));
    bond.put("uid", secret.index.uid);
    auto answer =
        context_.client().create(kServiceAccounts, namespace_of(secret), request.root(), name_of(account), "token");
    if (!answer) return fail(answer.error());
    return (*answer)["status"]["token"].string();
  }

  /// Takes the secret out of its account's list.
  Outcome forget(const KeyParts& secret, const std::string& account_name) {
    const auto stored = accounts_.get(secret.namespace_name, account_name);
    if (!stored || raw_of(*stored, {"secrets"}).empty()) return {};
    auto account = document_of(*stored);
    auto listed = account["secrets"];
    const auto before = listed.size();
    listed.retain([&](const Value& entry) { return entry["name"].text() != secret.name; });
    if (listed.size() == before) return {};
    if (listed.empty()) account.root().erase("secrets");
    account["metadata"].put("resourceVersion", std::to_string(stored->revision));
    return settled(context_.client().update(kServiceAccounts, secret.namespace_name, account_name, account.root()));
  }

  Context& context_;
  const Lister secrets_, accounts_;
};

}  // namespace

std::unique_ptr<Controller> make_service_account_tokens_controller(Context& context) {
  return std::make_unique<ServiceAccountTokensController>(context);
}

}  // namespace sublet::controllers
