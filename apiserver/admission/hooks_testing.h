// A webhook to test with: an HTTPS server of its own that answers reviews of any kind (or whatever it is asked) as the
// test says, by path. Its certificate is for the names that Services have.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "apiserver/tls_server_testing.h"
#include "sublet/apiserver/options.h"
#include "sublet/base/mutex.h"
#include "sublet/schema/document.h"

namespace sublet::apiserver {

class HookServer {
 public:
  /// What it answers with, of the request member of a review: a response's members, as JSON; "hang": nothing.
  using Answer = std::function<std::string(const schema::Value& request)>;

  HookServer();
  ~HookServer();
  void on(const std::string& path, Answer answer);
  /// All that was asked for at a path, in order.
  std::vector<schema::Document> asked(const std::string& path);
  void wait_asked(const std::string& path, std::size_t count);

  int port() const { return server_.port(); }
  /// Base64 of the CA, as caBundle has it.
  const std::string& ca_bundle() const { return ca_bundle_; }
  std::string url(const std::string& path) const { return server_.url() + path; }
  /// Of a server that may reach it.
  static ServerOptions options();

 private:
  void serve(const net::Request& request, const std::shared_ptr<net::ResponseSink>& sink);

  TestTlsServer server_;
  const std::string ca_bundle_;
  Mutex mutex_;
  CondVar changed_;
  std::map<std::string, Answer> answers_ SUBLET_GUARDED_BY(mutex_);
  std::map<std::string, std::vector<std::string>> asked_ SUBLET_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<net::ResponseSink>> held_ SUBLET_GUARDED_BY(mutex_);
};

/// {"patchType":"JSONPatch","patch":<base64>,"allowed":true} of a JSON patch.
std::string patch_answer(const std::string& patch);

}  // namespace sublet::apiserver
