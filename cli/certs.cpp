// certs: when the certificates of virtual clusters end, and others in their place.
#include <cstdio>

#include "cli/command.h"
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
  const auto listed = driver.list();
  if (!listed) return fail(listed.error());
  const cluster::Records& records = *listed;
  std::vector<cluster::VirtualCluster> meant = records.clusters;
  if (!options.name.empty()) {
    auto found = find_named(driver, options.name, options.host_namespace);
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
  const auto cluster = find_named(driver, options.name, options.host_namespace);
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

namespace {

class CertsCommand final : public Command {
 public:
  void declare(Words& words) override {
    Words check = words.command("check", "Show when the certificates of virtual clusters expire", [] {});
    check.text("NAME", options_.name, "its name, also as `sublet list -o name` prints it (default: all)");
    Words rotate = words.command("rotate", "Replace the certificates now; kubeconfigs with the old ones are refused",
                                 [this] { options_.rotate = true; });
    rotate.text("NAME", options_.name, "its name, also as `sublet list -o name` prints it").required();
    for (Words* each : {&check, &rotate}) {
      each->text("-n,--namespace", options_.host_namespace, "its namespace on the host");
      each->output(options_.output);
    }
    words.examples(
        "  sublet certs check\n"
        "  sublet certs rotate rag                  # when a kubeconfig is in the wrong hands");
    check.examples(
        "  sublet certs check                       # exit code 1 when one has expired\n"
        "  sublet certs check rag -o json");
    rotate.examples("  sublet certs rotate rag && sublet connect rag");
  }
  int run(const Invocation& invocation) override { return certs(*invocation.make_driver(), options_); }

 private:
  CertsOptions options_;
};

}  // namespace

std::unique_ptr<Command> make_certs_command() { return std::make_unique<CertsCommand>(); }

}  // namespace sublet::cli
