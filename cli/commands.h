// Commands as functions of their options, for those that tests or other commands call. A new command needs nothing here
// (command.h).
//
// Each returns an exit code, writes data to stdout and everything else to stderr, and works on virtual clusters through
// the driver alone.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "sublet/cluster/driver.h"

namespace sublet::cli {

struct CreateOptions {
  std::string name;
  std::string host_namespace;  // default: sublet-<name>
  std::string template_file;
  std::vector<std::string> set;  // NAME=VALUE
  bool lenient = false;          // ignore keys of the template that sublet does not support
  std::string host_kubeconfig;   // empty: the embedded host
  std::string host_context;
  std::optional<std::int64_t> quota_objects;
  std::string quota_bytes;  // a quantity; empty: as it is
  std::string pod_address, pod_listen;
  std::chrono::seconds timeout{60};
  bool connect = false;
  cluster::EmbeddedHostShape shape;
  std::string output = "text";
};
int create(cluster::Driver& driver, const CreateOptions& options);

struct ListOptions {
  std::string host_namespace;   // empty: all
  bool all_namespaces = false;  // the default; -A is accepted as in kubectl
  std::string output = "table";
};
int list(cluster::Driver& driver, const ListOptions& options);

struct ConnectOptions {
  std::string name;            // also as `list -o name` prints it
  std::string host_namespace;  // empty: wherever the one of that name is
  std::string role;            // view, edit, admin or cluster-admin by a token; empty: the administrator's certificate
  std::string expires;         // of the token, "8h"
  std::string server;          // URL to write into the kubeconfig; empty: chosen by where it is used
  bool print = false;
  bool update_current = true;
  std::string kubeconfig;  // file to change; empty: as kubectl would
  std::vector<std::string> command;
  std::string output = "text";
};
int connect(cluster::Driver& driver, const ConnectOptions& options);

struct DisconnectOptions {
  std::string kubeconfig;
  std::string output = "text";
};
int disconnect(const DisconnectOptions& options);

struct DeleteOptions {
  std::vector<std::string> names;  // also as `list -o name` prints them
  std::string host_namespace;
  bool yes = false;
  bool ignore_not_found = false;
  bool force = false;                 // continue when the host cannot be reached
  bool keep_host = false;             // leave the embedded host running when its last virtual cluster goes
  std::chrono::seconds timeout{120};  // for each
  std::string output = "text";
  std::string host_kubeconfig{}, host_context{};  // the operator's access; empty: as create was given it
};
int remove(cluster::Driver& driver, const DeleteOptions& options);

struct AuditOptions {
  std::string name, host_namespace;
  std::string head;  // the hash that an earlier check printed: the log must still have that line
  std::string output = "text";
};
/// Checks the log of the virtual cluster's writes to its host (sublet/syncer/host_audit.h).
int audit(const cluster::Driver& driver, const AuditOptions& options);

struct CertsOptions {
  bool rotate = false;
  std::string name{}, host_namespace{};  // check: no name: all
  std::string output = "text";
};
enum class CertificateState { good, ends_soon, ended };
CertificateState state_of(const cluster::Certificate& certificate, WallTime now);
std::string certificate_warning(const std::string& reference, const cluster::Certificate& certificate,
                                CertificateState state);
/// Prints when certificates expire (a failure when one has), or replaces them.
int certs(cluster::Driver& driver, const CertsOptions& options);

class ServiceManager;
struct BootPlace;
enum class BootAction { enable, disable, start };
struct BootOptions {
  BootAction action = BootAction::start;
  std::chrono::seconds timeout{600};         // start: for hosts that do not answer yet
  std::chrono::milliseconds between{5'000};  // tries
};
/// enable and disable are about `place`, by `services`; start is about the driver's virtual clusters.
int boot(cluster::Driver& driver, ServiceManager& services, const BootPlace& place, const BootOptions& options);

struct ExplainOptions {
  std::string name;            // of a virtual cluster; with a template, what one would be called
  std::string object;          // "pod/web"
  std::string host_namespace;  // as in connect
  std::string file;            // instead of an object
  std::string template_file;   // instead of the virtual cluster's own
  std::vector<std::string> set;
  std::string output = "text";
};
/// Prints what an object is, or would be, on the host, and why each field differs.
int explain(cluster::Driver& driver, const ExplainOptions& options);

struct WhyOptions {
  std::string name, object, host_namespace;  // as in explain
  std::string output = "text";
};
/// Prints why a pod does not run.
int why(cluster::Driver& driver, const WhyOptions& options);

struct VersionOptions {
  std::string output;
};
int version(const VersionOptions& options);
std::string version_text();

}  // namespace sublet::cli
