#include <cstdio>

#include "cli/command.h"
#include "cli/commands.h"
#include "cli/context_name.h"
#include "cli/exit_code.h"
#include "cli/json_output.h"
#include "cli/output_table.h"
#include "cli/reference.h"
#include "cli/steps.h"
#include "sublet/base/clock.h"
#include "sublet/kube/kubeconfig.h"
#include "sublet/schema/engine.h"

namespace sublet::cli {
namespace {

using cluster::VirtualCluster;

constexpr std::chrono::seconds kStatusTimeout{2};  // with one that hangs

struct ClusterRow {
  VirtualCluster cluster;
  cluster::LogPlaces logs;
  std::string reference;  // by which it is named wherever names are taken
  cluster::ClusterStatus status;
  bool connected = false;  // the current kubeconfig context is its
};

// Only its name and namespace are known.
VirtualCluster damaged_cluster(const cluster::DamagedRecord& record) {
  VirtualCluster cluster;
  cluster.name = record.name;
  cluster.host_namespace = record.host_namespace;
  return cluster;
}

nlohmann::json to_json(const std::vector<ClusterRow>& rows) {
  auto items = nlohmann::json::array();
  for (const ClusterRow& row : rows) {
    items.push_back(cluster_json(row.cluster, row.logs));
    items.back()["status"] = row.status.status;
    items.back()["version"] = row.status.version;
    items.back()["connected"] = row.connected;
  }
  return items;
}

void print_cluster_table(const std::vector<ClusterRow>& rows, bool wide) {
  OutputTable table({"NAME", "NAMESPACE", "STATUS", "VERSION", "CONNECTED", "AGE"});
  if (wide) table.add_columns({"HOST", "ENDPOINT", "TEMPLATE", "LOGS"});
  const auto now = Clock::system().now();
  for (const ClusterRow& row : rows) {
    const auto created = parse_time(row.cluster.created);
    std::vector<std::string> cells{
        row.cluster.name,   row.cluster.host_namespace,  row.status.status,
        row.status.version, row.connected ? "True" : "", created ? age_text(now - *created) : "<unknown>"};
    if (wide) {
      cells.push_back(host_text(row.cluster));
      cells.push_back("https://" + row.cluster.listen);
      cells.push_back(row.cluster.template_file.empty() ? "<none>" : row.cluster.template_file);
      cells.push_back(row.logs.all);
    }
    table.add_row(std::move(cells));
  }
  std::fputs(table.text().c_str(), stdout);
}

// A running API server renews its certificates in time; one that expires soon is a fault.
void warn_of_certificates(const cluster::Driver& driver, const ClusterRow& row) {
  if (row.status.status == "Stopped") return;
  const auto certificates = driver.certificates(row.cluster);
  if (!certificates) return;
  for (const auto& certificate : *certificates)
    if (const auto state = state_of(certificate, Clock::system().now()); state != CertificateState::good)
      std::fprintf(stderr, "sublet: %s\n", certificate_warning(row.reference, certificate, state).c_str());
}

// Warns about states and certificates that need an action.
void warn_of_clusters(const cluster::Driver& driver, const std::vector<ClusterRow>& rows) {
  for (const ClusterRow& row : rows)
    if (row.status.status == "Deleting")
      std::fprintf(stderr, "sublet: the deletion of %s is not finished: sublet delete %s -n %s\n",
                   row.reference.c_str(), row.cluster.name.c_str(), row.cluster.host_namespace.c_str());
  for (const ClusterRow& row : rows)
    if (row.status.status == "TokenExpired")
      std::fprintf(
          stderr,
          "sublet: %s no longer reaches its host: the token of its syncer has expired; renew it: sublet create %s -n "
          "%s%s\n",
          row.reference.c_str(), row.cluster.name.c_str(), row.cluster.host_namespace.c_str(),
          row.cluster.embedded_host ? "" : " --host-kubeconfig FILE");
  for (const ClusterRow& row : rows) warn_of_certificates(driver, row);
}

// Returns those in the namespace; an empty one means all. Names are read from the records alone, because shells ask for
// them at each Tab.
std::vector<ClusterRow> cluster_rows(const cluster::Driver& driver, cluster::Records records,
                                     const std::string& host_namespace, bool names_only) {
  const cluster::Records all = records;
  const auto elsewhere = [&](const auto& record) {
    return !host_namespace.empty() && record.host_namespace != host_namespace;
  };
  std::erase_if(records.clusters, elsewhere);
  std::erase_if(records.damaged, elsewhere);
  std::vector<cluster::ClusterStatus> statuses(records.clusters.size());
  if (!names_only) statuses = driver.status(records.clusters, kStatusTimeout);
  const std::string current = kube::kubeconfig_current_context(kube::default_kubeconfig_path()).value_or("");
  std::vector<ClusterRow> rows;
  for (std::size_t i = 0; i < records.clusters.size(); ++i) {
    const bool connected = current == context_name(records.clusters[i]);
    auto reference = reference_of(all, records.clusters[i].name, records.clusters[i].host_namespace);
    auto logs = driver.logs(records.clusters[i].name, records.clusters[i].host_namespace);
    rows.push_back({std::move(records.clusters[i]), std::move(logs), std::move(reference), statuses[i], connected});
  }
  if (!names_only) warn_of_clusters(driver, rows);
  for (const auto& damaged : records.damaged) {
    rows.push_back({damaged_cluster(damaged),
                    driver.logs(damaged.name, damaged.host_namespace),
                    reference_of(all, damaged.name, damaged.host_namespace),
                    {"Damaged", "-"}});
    std::fprintf(stderr, "sublet: %s\n",
                 printable(message_of(fail(Reason::internal_error, damaged.why).value())).c_str());
  }
  return rows;
}

int print_clusters(const std::vector<ClusterRow>& rows, const std::string& output) {
  if (output == "name") {
    for (const ClusterRow& row : rows) std::printf("%s\n", row.reference.c_str());
  } else if (output == "json") {
    print_json(to_json(rows));
  } else if (output == "yaml") {
    const auto document = schema::Document::parse_json(to_json(rows).dump());
    std::fputs(schema::to_yaml(document->root()).c_str(), stdout);
  } else {
    print_cluster_table(rows, output == "wide");
  }
  return kOk;
}

}  // namespace

int list(cluster::Driver& driver, const ListOptions& options) {
  auto records = driver.list();
  if (!records) return report(records.error());
  const auto rows = cluster_rows(driver, std::move(*records), options.host_namespace, options.output == "name");
  if (rows.empty() && (options.output == "table" || options.output == "wide")) {
    std::fprintf(stderr, "No virtual clusters%s. `sublet create NAME` makes one.\n",
                 options.host_namespace.empty() ? "" : (" in namespace " + options.host_namespace).c_str());
    return kOk;
  }
  return print_clusters(rows, options.output);
}

namespace {

class ListCommand final : public Command {
 public:
  void declare(Words& words) override {
    words.text("-n,--namespace", options_.host_namespace, "only those in this namespace of the host");
    words.choice("-o,--output", options_.output, {"table", "wide", "json", "yaml", "name"},
                 "table, wide, json, yaml or name");
    words.flag("-A,--all-namespaces", options_.all_namespaces, "all namespaces (the default)");
    words.examples(
        "  sublet list\n"
        "  sublet list -n team-rag -o wide          # with host, endpoint, template and logs\n"
        "  sublet list -o name                      # what connect and delete take\n"
        "  sublet list -o json | jq -r '.[] | select(.status != \"Running\") | .name'");
  }
  int run(const Invocation& invocation) override { return list(*invocation.make_driver(), options_); }

 private:
  ListOptions options_;
};

}  // namespace

std::unique_ptr<Command> make_list_command() { return std::make_unique<ListCommand>(); }

}  // namespace sublet::cli
