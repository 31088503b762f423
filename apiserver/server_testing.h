// A server over a store in memory, spoken to in process: request in, response out. For the tests of this folder.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sublet/apiserver/server.h"
#include "sublet/base/mutex.h"
#include "sublet/net/http.h"
#include "sublet/net/loop.h"
#include "sublet/schema/document.h"
#include "sublet/store/memory_log.h"

namespace sublet::apiserver {

inline constexpr std::string_view kJson = "application/json";

/// One answer, with its body as a tree when it is JSON.
struct Reply {
  int code = 0;
  net::Headers headers;
  std::string body;
  schema::Document json;
  schema::Value operator[](std::string_view key) const { return json[key]; }
  std::string text(std::string_view dotted) const { return json.root().path(dotted).string(); }
  std::string version() const { return text("metadata.resourceVersion"); }
};

/// One watch: lines as they come. Cancelled when destroyed.
class Tap final : public net::ResponseObserver {
 public:
  void on_head(int code, const net::Headers& headers) override;
  void on_body(std::string_view chunk) override;
  void on_end(Outcome outcome) override;

  /// Waits for the n-th event (from 0); a missing root after a minute or at the end.
  schema::Document event(std::size_t n);
  /// Waits for the stream's end; false after `limit`.
  bool ended(std::chrono::seconds limit = std::chrono::seconds(60));
  std::size_t count();
  int code();
  std::string raw();

 private:
  Mutex mutex_;
  CondVar changed_;
  int code_ SUBLET_GUARDED_BY(mutex_) = 0;
  std::string partial_ SUBLET_GUARDED_BY(mutex_), raw_ SUBLET_GUARDED_BY(mutex_);
  std::vector<std::string> lines_ SUBLET_GUARDED_BY(mutex_);
  bool over_ SUBLET_GUARDED_BY(mutex_) = false;
};

struct Watching {
  std::shared_ptr<Tap> tap;
  std::unique_ptr<net::Exchange> exchange;
  Tap* operator->() const { return tap.get(); }
};

class Rig {
 public:
  /// Without upstream's roles and bindings, which take a while to write: who calls is of system:masters.
  explicit Rig(store::StoreOptions store_options = {}, ServerOptions options = {},
               std::unique_ptr<store::Log> log = store::make_memory_log());
  /// The server as a virtual cluster has it, with those.
  struct WithRights {
    explicit WithRights() = default;
  };
  Rig(ServerOptions options, WithRights);
  /// The first with a clock of the test's.
  Rig(ServerOptions options, Clock& clock);
  ~Rig();
  Reply call(std::string method, std::string target, std::string body = {}, net::Headers headers = {});
  Reply get(std::string target, net::Headers headers = {}) {
    return call("GET", std::move(target), {}, std::move(headers));
  }
  Reply post(std::string target, std::string body) { return call("POST", std::move(target), std::move(body)); }
  Reply put(std::string target, std::string body) { return call("PUT", std::move(target), std::move(body)); }
  Reply patch(std::string target, std::string_view type, std::string body);
  Reply remove(std::string target, std::string body = {}) { return call("DELETE", std::move(target), std::move(body)); }
  Watching watch(std::string target, net::Headers headers = {});
  /// Starts a request and does not wait for its answer (the Tap's code() and raw()): when this returns, the handler
  /// has, and what it answered at once was heard.
  Watching begin(std::string method, std::string target, std::string body = {}, net::Headers headers = {});
  /// A call as somebody: headers that impersonate.
  Reply call_as(const std::string& user, std::string method, std::string target, std::string body = {});
  store::Store& store() { return *store_; }
  Server& server() { return *server_; }
  net::Loop& loop() { return loop_.loop(); }

  /// A ConfigMap in the namespace `test`, which is empty at first, with data {k: value} and these labels (JSON object
  /// text).
  Reply make_config_map(const std::string& name, const std::string& value = "v", const std::string& labels = "{}");

 private:
  void start(store::StoreOptions store_options, ServerOptions options, std::unique_ptr<store::Log> log,
             Clock& clock = Clock::system());

  std::unique_ptr<store::Store> store_;
  net::LoopThread loop_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<net::Transport> transport_;
};

inline const std::string kConfigMaps = "/api/v1/namespaces/test/configmaps";
inline const std::string kDefaultPods = "/api/v1/namespaces/default/pods";
inline const std::string kDefinitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

}  // namespace sublet::apiserver
