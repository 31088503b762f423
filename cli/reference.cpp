#include "cli/reference.h"

#include <algorithm>

namespace sublet::cli {
namespace {

const std::string kKind = "virtualcluster/";

}  // namespace

Result<Reference> parse_reference(const std::string& word, const std::string& host_namespace) {
  if (word.find('/') == std::string::npos) return Reference{word, host_namespace};
  const std::string path = word.starts_with(kKind) ? word.substr(kKind.size()) : "";
  const auto slash = path.find('/');
  const bool qualified = slash != std::string::npos;
  const Reference meant{qualified ? path.substr(slash + 1) : path, qualified ? path.substr(0, slash) : host_namespace};
  if (meant.name.empty() || meant.name.find('/') != std::string::npos || (qualified && meant.host_namespace.empty()))
    return bad_request(word +
                       " is no virtual cluster; NAME, virtualcluster/NAME and virtualcluster/NAMESPACE/NAME are");
  if (!host_namespace.empty() && meant.host_namespace != host_namespace)
    return bad_request(word + " is in namespace " + meant.host_namespace + ", and -n says " + host_namespace);
  return meant;
}

Result<cluster::VirtualCluster> find_named(const cluster::Driver& driver, const std::string& word,
                                           const std::string& host_namespace) {
  const auto reference = parse_reference(word, host_namespace);
  if (!reference) return fail(reference.error());
  const auto records = driver.list();
  if (!records) return fail(records.error());
  return find_cluster(*records, reference->name, reference->host_namespace);
}

std::string reference_of(const cluster::Records& records, const std::string& name, const std::string& host_namespace) {
  const auto is_namesake = [&](const auto& other) {
    return other.name == name && other.host_namespace != host_namespace;
  };
  const bool shared =
      std::ranges::any_of(records.clusters, is_namesake) || std::ranges::any_of(records.damaged, is_namesake);
  return kKind + (shared ? host_namespace + "/" : "") + name;
}

}  // namespace sublet::cli
