#include "subletd/api_host.h"
#include "subletd/role.h"

namespace sublet::subletd {
namespace {

class ApiServerRole final : public RoleProgram {
 public:
  void declare(Flags& flags) override {
    flags.text("--data", config_.data_dir, "folder for the store and the keys, created with mode 0700", true);
    flags.text("--listen", config_.listen, "ADDRESS:PORT for TLS; port 0 picks one");
    flags.text("--unix-socket", config_.unix_socket, "path of a socket on which the syncer connects");
    flags.text("--admin-kubeconfig", config_.admin_kubeconfig, "file to write an administrator's kubeconfig to");
    flags.text("--context-name", config_.context_name, "context's name in that file");
    flags.list("--tls-san", config_.extra_names, "further name or address of the server's certificate");
  }

  Outcome run() override {
    auto host = ApiHost::open(config_);
    if (!host) return fail(host.error());
    wait_for_stop_signal();
    (*host)->stop();
    if ((*host)->poisoned()) return internal_error("the store failed; restart to recover what is durable");
    return {};
  }

 private:
  ApiHostConfig config_;
};

}  // namespace

std::unique_ptr<RoleProgram> make_apiserver_role() { return std::make_unique<ApiServerRole>(); }

}  // namespace sublet::subletd
