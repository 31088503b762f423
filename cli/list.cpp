#include <cstdio>

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
  std::string reference;  // by which it is named wherever names are taken
  cluster::ClusterStatus status;
  bool connected = false;  // the current kubeconfig context is its
};

// All that is known of it is where it lies.
VirtualCluster damaged_cluster(const cluster::DamagedRecord& record) {
  VirtualCluster cluster;
  cluster.name = record.name;
  cluster.host_namespace = record.host_namespace;
  cluster.folder = record.folder;
  return cluster;
}

nlohmann::json to_json(const std::vector<ClusterRow>& rows) {
  auto items = nlohmann::json::array();
  for (const ClusterRow& row : rows) {
    items.push_back(cluster_json(row.cluster));
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
      cells.push_back(row.cluster.log_path("*"));
    }
    table.add_row(std::move(cells));
  }
  std::fputs(table.text().c_str(), stdout);
}

// One that runs makes others in time: what ends soon all the same is a fault that grows.
void warn_of_certificates(const cluster::Driver& driver, const ClusterRow& row) {
  if (row.status.status == "Stopped") return;
  const auto certificates = driver.certificates(row.cluster);
  if (!certificates) return;
  for (const auto& certificate : *certificates)
    if (const auto state = state_of(certificate, Clock::system().now()); state != CertificateState::good)
      std::fprintf(stderr, "sublet: %s\n", certificate_warning(row.reference, certificate, state).c_str());
}

// Prints what the statuses and certificates of virtual clusters say is wrong.
void warn_of_clusters(const cluster::Driver& driver, const std::vector<ClusterRow>& rows) {
  for (const ClusterRow& row : rows)
    if (row.status.status == "TokenExpired")
      std::fprintf(
          stderr,
          "sublet: %s no longer reaches its host: what its syncer is known by there has ended; renew it: sublet "
          "create %s -n %s --host-kubeconfig FILE\n",
          row.reference.c_str(), row.cluster.name.c_str(), row.cluster.host_namespace.c_str());
  for (const ClusterRow& row : rows) warn_of_certificates(driver, row);
}

// Returns those in the namespace; an empty one means all. Names are read from the records alone, because shells ask for
// them at each Tab.
std::vector<ClusterRow> cluster_rows(const cluster::Driver& driver, const std::string& host_namespace,
                                     bool names_only) {
  cluster::Records records = driver.list();
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
    rows.push_back({std::move(records.clusters[i]), std::move(reference), statuses[i], connected});
  }
  if (!names_only) warn_of_clusters(driver, rows);
  for (const auto& damaged : records.damaged) {
    rows.push_back(
        {damaged_cluster(damaged), reference_of(all, damaged.name, damaged.host_namespace), {"Damaged", "-"}});
    std::fprintf(stderr, "sublet: %s\n", printable(damaged.why).c_str());
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
  const auto rows = cluster_rows(driver, options.host_namespace, options.output == "name");
  if (rows.empty() && (options.output == "table" || options.output == "wide")) {
    std::fprintf(stderr, "No virtual clusters%s. `sublet create NAME` makes one.\n",
                 options.host_namespace.empty() ? "" : (" in namespace " + options.host_namespace).c_str());
    return kOk;
  }
  return print_clusters(rows, options.output);
}

}  // namespace sublet::cli
