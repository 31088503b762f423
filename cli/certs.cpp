// certs: when the certificates of virtual clusters end, and others in their place.
#include <cstdio>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/json_output.h"
#include "cli/output_table.h"
#include "cli/reference.h"
#include "cli/steps.h"
#include "sublet/base/clock.h"

namespace sublet::cli {
namespace {

struct CertificateRow {
  std::string reference;
  cluster::VirtualCluster cluster;
  cluster::Certificate certificate;
  CertificateState state;
};

Result<std::vector<CertificateRow>> certificate_rows(const cluster::Driver& driver, const CertsOptions& options) {
  const cluster::Records records = driver.list();
  std::vector<cluster::VirtualCluster> meant = records.clusters;
  if (!options.name.empty()) {
    const auto reference = parse_reference(options.name, options.host_namespace);
    if (!reference) return fail(reference.error());
    auto found = find_cluster(records, reference->name, reference->host_namespace);
    if (!found) return fail(found.error());
    meant = {std::move(*found)};
  } else if (!options.host_namespace.empty()) {
    std::erase_if(meant, [&](const auto& cluster) { return cluster.host_namespace != options.host_namespace; });
  }
  std::vector<CertificateRow> rows;
  for (const auto& cluster : meant) {
    auto certificates = driver.certificates(cluster);
    if (!certificates) return fail(certificates.error());
    for (auto& certificate : *certificates) {
      const auto state = state_of(certificate, Clock::system().now());
      rows.push_back(
          {reference_of(records, cluster.name, cluster.host_namespace), cluster, std::move(certificate), state});
    }
  }
  return rows;
}

const char* text_of(CertificateState state) {
  return state == CertificateState::good ? "good" : state == CertificateState::ends_soon ? "ends soon" : "ended";
}

void print_certificates(const std::vector<CertificateRow>& rows) {
  OutputTable table({"NAME", "CERTIFICATE", "ENDS", "LEFT", "STATE", "USE"});
  const auto now = Clock::system().now();
  for (const CertificateRow& row : rows)
    table.add_row({row.reference, row.certificate.name, format_time(row.certificate.ends),
                   row.certificate.ends > now ? age_text(row.certificate.ends - now) : "-", text_of(row.state),
                   row.certificate.use});
  std::fputs(table.text().c_str(), stdout);
}

void print_certificates_json(const std::vector<CertificateRow>& rows) {
  auto items = nlohmann::json::array();
  for (const CertificateRow& row : rows)
    items.push_back({{"name", row.cluster.name},
                     {"namespace", row.cluster.host_namespace},
                     {"certificate", row.certificate.name},
                     {"ends", format_time(row.certificate.ends)},
                     {"state", text_of(row.state)},
                     {"handedOut", row.certificate.handed_out}});
  print_json(items);
}

int check(const cluster::Driver& driver, const CertsOptions& options) {
  const auto rows = certificate_rows(driver, options);
  if (!rows) return report(rows.error());
  options.output == "json" ? print_certificates_json(*rows) : print_certificates(*rows);
  int code = kOk;
  for (const CertificateRow& row : *rows) {
    if (row.state == CertificateState::good) continue;
    if (row.state == CertificateState::ended) code = kFailure;
    std::fprintf(stderr, "sublet: %s\n", certificate_warning(row.reference, row.certificate, row.state).c_str());
  }
  return code;
}

int rotate(cluster::Driver& driver, const CertsOptions& options) {
  const auto reference = parse_reference(options.name, options.host_namespace);
  if (!reference) return report(reference.error());
  const auto cluster = find_cluster(driver.list(), reference->name, reference->host_namespace);
  if (!cluster) return report(cluster.error());
  const auto now = driver.rotate_certificates(*cluster);
  if (!now) return report(now.error());
  if (options.output == "json") {
    auto document = json_object("CertificateRotation");
    document["name"] = cluster->name;
    document["namespace"] = cluster->host_namespace;
    document["rotated"] = *now;
    print_json(document);
  }
  std::fprintf(
      stderr,
      *now ? "virtual cluster %s has new certificates; kubeconfigs that were made before are refused: "
             "sublet connect %s -n %s\n"
           : "virtual cluster %s is stopped; it gets new certificates when it starts, and kubeconfigs that were "
             "made before are refused: sublet create %s -n %s\n",
      cluster->name.c_str(), cluster->name.c_str(), cluster->host_namespace.c_str());
  return kOk;
}

}  // namespace

CertificateState state_of(const cluster::Certificate& certificate, WallTime now) {
  if (certificate.ends <= now) return CertificateState::ended;
  // Far less than what is left when the API server makes another.
  return certificate.ends < now + std::chrono::hours(24 * 7) ? CertificateState::ends_soon : CertificateState::good;
}

std::string certificate_warning(const std::string& reference, const cluster::Certificate& certificate,
                                CertificateState state) {
  const std::string text = "certificate " + certificate.name + " of " + reference +
                           (state == CertificateState::ended ? " ended at " : " ends at ") +
                           format_time(certificate.ends);
  if (certificate.name == "ca")
    return text + ", and with it the virtual cluster; its authority cannot be replaced: make another one";
  return text +
         "; its API server makes another when it starts, and within the hour while it runs: apiserver.log says "
         "why it has not";
}

int certs(cluster::Driver& driver, const CertsOptions& options) {
  return options.rotate ? rotate(driver, options) : check(driver, options);
}

}  // namespace sublet::cli
