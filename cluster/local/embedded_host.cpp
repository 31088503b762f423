#include "cluster/local/embedded_host.h"

#include <fcntl.h>
#include <sys/file.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "cluster/host/wait_until.h"
#include "cluster/local/address.h"
#include "cluster/local/daemon.h"
#include "sublet/base/files.h"
#include "sublet/kube/client.h"
#include "sublet/net/loop.h"
#include "sublet/schema/document.h"

namespace sublet::cluster {
namespace {

using std::chrono::steady_clock;

struct ShapeFlag {
  const char* flag;
  const char* key;  // in shape.json
  std::optional<int> EmbeddedHostShape::*value;
};
constexpr std::array<ShapeFlag, 3> kShapeFlags{{
    {"--nodes", "nodes", &EmbeddedHostShape::nodes},
    {"--gpu-nodes", "gpuNodes", &EmbeddedHostShape::gpu_nodes},
    {"--gpus-per-node", "gpusPerNode", &EmbeddedHostShape::gpus_per_node},
}};
constexpr int kDefaultCount = 1;

void warn_of_flags_without_effect(const EmbeddedHostShape& wanted, const EmbeddedHostShape& has, Progress& progress) {
  for (const ShapeFlag& flag : kShapeFlags)
    if (wanted.*flag.value && wanted.*flag.value != has.*flag.value)
      progress.warn(std::string(flag.flag) + " " + std::to_string(*(wanted.*flag.value)) +
                    " has no effect: the embedded host is there, made with " +
                    std::to_string((has.*flag.value).value_or(kDefaultCount)));
}

bool answers(const kube::ClusterAccess& access) {
  net::LoopThread loop("probe");
  auto transport = kube::connect(loop.loop(), access);
  if (!transport) return false;
  const auto answer = kube::Client(*transport, {.timeout = std::chrono::seconds(5)}).raw("GET", "/readyz");
  return answer && answer->code == 200;
}

}  // namespace

// The shape that it was made with; all unset when there is none.
EmbeddedHostShape EmbeddedHost::recorded_shape() const {
  EmbeddedHostShape shape;
  const auto text = read_file(shape_path());
  const auto document = text ? schema::Document::parse_json(*text) : fail(text.error());
  if (!document) return shape;
  for (const ShapeFlag& flag : kShapeFlags)
    if (document->root().has(flag.key)) shape.*flag.value = static_cast<int>(document->root()[flag.key].integer());
  return shape;
}

Outcome EmbeddedHost::record_shape(const EmbeddedHostShape& shape) const {
  auto document = schema::Document::object();
  for (const ShapeFlag& flag : kShapeFlags)
    document.root().put(flag.key, std::int64_t{(shape.*flag.value).value_or(kDefaultCount)});
  return write_private_file(shape_path(), document.root().to_pretty_json());
}

// The address on which it listened before, unless another process has taken it.
std::string EmbeddedHost::address_to_listen() const {
  const auto access = kube::load_kubeconfig(kubeconfig_path());
  constexpr std::string_view kScheme = "https://";
  if (access && access->server.starts_with(kScheme))
    if (std::string address = access->server.substr(kScheme.size()); address_is_free(address)) return address;
  return "127.0.0.1:0";
}

Outcome EmbeddedHost::launch(const EmbeddedHostShape& wanted, Progress& progress) const {
  EmbeddedHostShape shape = recorded_shape();
  if (shape.nodes) {
    warn_of_flags_without_effect(wanted, shape, progress);
  } else {
    shape = wanted;
    if (auto recorded = record_shape(shape); !recorded) return recorded;
  }
  std::vector<std::string> arguments{
      "simhost", "--data", folder_ + "/data", "--listen", address_to_listen(), "--admin-kubeconfig", kubeconfig_path()};
  for (const ShapeFlag& flag : kShapeFlags) {
    arguments.push_back(flag.flag);
    arguments.push_back(std::to_string((shape.*flag.value).value_or(kDefaultCount)));
  }
  auto started = start_daemon(lock_path(), log_path(), arguments);
  // Another create started it first.
  if (!started && started.error().is(Reason::already_exists)) return {};
  return started;
}

Result<Descriptor> EmbeddedHost::lock(Use use) const {
  const std::filesystem::path path = folder_ + ".lock";
  if (auto made = make_private_folder(path.parent_path()); !made) return fail(made.error());
  Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return internal_error("cannot open " + path.string() + ": " + std::strerror(errno));
  while (::flock(file.get(), use == Use::shared ? LOCK_SH : LOCK_EX) != 0)
    if (errno != EINTR) return internal_error("cannot lock " + path.string() + ": " + std::strerror(errno));
  return file;
}

bool EmbeddedHost::runs() const { return daemon_runs(lock_path()); }

Result<kube::ClusterAccess> EmbeddedHost::wait_until_ready(std::chrono::seconds patience) const {
  Result<kube::ClusterAccess> access = fail(Reason::timeout, "");
  bool died = false;
  const bool up = wait_until(steady_clock::now() + patience, [&] {
    if (!runs()) return died = true;
    if (!std::filesystem::exists(kubeconfig_path())) return false;
    access = kube::load_kubeconfig(kubeconfig_path());
    return access && answers(*access);
  });
  if (died)
    return internal_error("the embedded host ended while starting; " + log_path() +
                          " ends with:" + log_tail(log_path()));
  if (!up) return fail(Reason::timeout, "the embedded host was not ready in time; see " + log_path());
  return access;
}

Result<kube::ClusterAccess> EmbeddedHost::start(const EmbeddedHostShape& shape, std::chrono::seconds patience,
                                                Progress& progress) {
  if (auto made = make_private_folder(folder_); !made) return fail(made.error());
  if (runs()) {
    warn_of_flags_without_effect(shape, recorded_shape(), progress);
  } else if (auto launched = launch(shape, progress); !launched) {
    return fail(launched.error());
  }
  return wait_until_ready(patience);
}

Outcome EmbeddedHost::remove() {
  if (auto stopped = stop_daemon(lock_path(), std::chrono::seconds(10)); !stopped) return stopped;
  std::error_code error;
  std::filesystem::remove_all(folder_, error);
  if (error) return internal_error("cannot remove " + folder_ + ": " + error.message());
  return {};
}

}  // namespace sublet::cluster
