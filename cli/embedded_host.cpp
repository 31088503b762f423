#include "cli/embedded_host.h"

#include <array>
#include <cstdio>
#include <filesystem>

#include "cli/address.h"
#include "cli/daemon.h"
#include "cli/state.h"
#include "sublet/base/files.h"
#include "sublet/kube/client.h"
#include "sublet/net/loop.h"
#include "sublet/schema/document.h"

namespace sublet::cli {
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

std::string lock_file() { return embedded_host_folder() + "/daemon.lock"; }
std::string log_file() { return embedded_host_folder() + "/simhost.log"; }
std::string shape_file() { return embedded_host_folder() + "/shape.json"; }

// The shape that it was made with; all unset when there is none.
EmbeddedHostShape recorded_shape() {
  EmbeddedHostShape shape;
  const auto text = read_file(shape_file());
  const auto document = text ? schema::Document::parse_json(*text) : fail(text.error());
  if (!document) return shape;
  for (const ShapeFlag& flag : kShapeFlags)
    if (document->root().has(flag.key)) shape.*flag.value = static_cast<int>(document->root()[flag.key].integer());
  return shape;
}

Outcome record_shape(const EmbeddedHostShape& shape) {
  auto document = schema::Document::object();
  for (const ShapeFlag& flag : kShapeFlags)
    document.root().put(flag.key, std::int64_t{(shape.*flag.value).value_or(kDefaultCount)});
  return write_private_file(shape_file(), document.root().to_pretty_json());
}

void name_flags_without_effect(const EmbeddedHostShape& wanted, const EmbeddedHostShape& has) {
  for (const ShapeFlag& flag : kShapeFlags)
    if (wanted.*flag.value && wanted.*flag.value != has.*flag.value)
      std::fprintf(stderr, "sublet: %s %d has no effect: the embedded host is there, made with %d\n", flag.flag,
                   *(wanted.*flag.value), (has.*flag.value).value_or(kDefaultCount));
}

// Where it listened before, unless somebody else does now.
std::string address_to_listen() {
  const auto access = kube::load_kubeconfig(embedded_host_kubeconfig());
  constexpr std::string_view kScheme = "https://";
  if (access && access->server.starts_with(kScheme))
    if (std::string address = access->server.substr(kScheme.size()); address_is_free(address)) return address;
  return "127.0.0.1:0";
}

Outcome start(const EmbeddedHostShape& wanted) {
  EmbeddedHostShape shape = recorded_shape();
  if (shape.nodes) {
    name_flags_without_effect(wanted, shape);
  } else {
    shape = wanted;
    if (auto recorded = record_shape(shape); !recorded) return recorded;
  }
  std::vector<std::string> arguments{"simhost",
                                     "--data",
                                     embedded_host_folder() + "/data",
                                     "--listen",
                                     address_to_listen(),
                                     "--admin-kubeconfig",
                                     embedded_host_kubeconfig()};
  for (const ShapeFlag& flag : kShapeFlags) {
    arguments.push_back(flag.flag);
    arguments.push_back(std::to_string((shape.*flag.value).value_or(kDefaultCount)));
  }
  auto started = start_daemon(lock_file(), log_file(), arguments);
  // Lost the race against another create: its host is as good as ours.
  if (!started && started.error().is(Reason::already_exists)) return {};
  return started;
}

bool answers(const kube::ClusterAccess& access) {
  net::LoopThread loop("probe");
  auto transport = kube::connect(loop.loop(), access);
  if (!transport) return false;
  const auto answer = kube::Client(*transport, {.timeout = std::chrono::seconds(5)}).raw("GET", "/readyz");
  return answer && answer->code == 200;
}

}  // namespace

bool embedded_host_runs() { return daemon_runs(lock_file()); }
std::string embedded_host_kubeconfig() { return embedded_host_folder() + "/admin.kubeconfig"; }

Result<kube::ClusterAccess> start_embedded_host(const EmbeddedHostShape& shape, std::chrono::seconds timeout) {
  if (auto made = make_private_folder(embedded_host_folder()); !made) return fail(made.error());
  if (embedded_host_runs()) {
    name_flags_without_effect(shape, recorded_shape());
  } else if (auto started = start(shape); !started) {
    return fail(started.error());
  }
  Result<kube::ClusterAccess> access = fail(Reason::timeout, "");
  bool died = false;
  const bool up = wait_until(steady_clock::now() + timeout, [&] {
    if (!embedded_host_runs()) return died = true;
    if (!std::filesystem::exists(embedded_host_kubeconfig())) return false;
    access = kube::load_kubeconfig(embedded_host_kubeconfig());
    return access && answers(*access);
  });
  if (died)
    return internal_error("the embedded host ended while starting; " + log_file() +
                          " ends with:" + log_tail(log_file()));
  if (!up) return fail(Reason::timeout, "the embedded host was not ready in time; see " + log_file());
  return access;
}

Outcome stop_embedded_host() {
  if (auto stopped = stop_daemon(lock_file(), std::chrono::seconds(10)); !stopped) return stopped;
  std::error_code error;
  std::filesystem::remove_all(embedded_host_folder(), error);
  if (error) return internal_error("cannot remove " + embedded_host_folder() + ": " + error.message());
  return {};
}

}  // namespace sublet::cli
