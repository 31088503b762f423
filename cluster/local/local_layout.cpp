#include "sublet/cluster/local_layout.h"

#include "sublet/base/files.h"
#include "sublet/base/random.h"
#include "sublet/syncer/node_names.h"

namespace sublet::cluster {

Result<VirtualCluster> LocalLayout::load() const {
  const auto text = read_file(record_path());
  if (!text) return fail(text.error());
  auto cluster = VirtualCluster::from_json(*text);
  if (!cluster) return fail(Reason::internal_error, record_path() + " cannot be used: " + cluster.error().message);
  auto given = read_file(template_path());
  if (!given && !given.error().is(Reason::not_found)) return fail(Reason::internal_error, given.error().message);
  if (given) cluster->template_text = std::move(*given);
  return cluster;
}

Outcome LocalLayout::save(const VirtualCluster& cluster) const {
  return write_private_file(record_path(), cluster.to_json());
}

Outcome LocalLayout::save_template(const VirtualCluster& cluster) const {
  return write_private_file(template_path(), cluster.template_text);
}

Result<std::string> LocalLayout::node_names_key() const {
  constexpr std::size_t kKeyBytesMin = 64;
  const std::string path = node_names_key_path();
  auto key = read_file(path);
  if (!key && !key.error().is(Reason::not_found)) return fail(key.error());
  if (key && key->size() >= kKeyBytesMin) return key;
  if (key)
    return internal_error(path + " holds no key; remove it, and nodes get new pseudo names when the syncer starts");
  std::string made = syncer::NodeNames::new_key(Random::system());
  if (auto written = write_private_file(path, made); !written) return fail(written.error());
  return made;
}

}  // namespace sublet::cluster
