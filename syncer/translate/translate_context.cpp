#include "sublet/syncer/translate_context.h"

#include "sublet/base/random.h"
#include "sublet/syncer/node_names.h"

namespace sublet::syncer {

const patches::SyncConfig& config_of(const TranslateContext& context) {
  static const patches::SyncConfig by_default;
  return context.resolved_template ? context.resolved_template->config() : by_default;
}

const NodeNames& node_names_of(const TranslateContext& context) {
  static const NodeNames host_names, meaningless(NodeNames::new_key(Random::system()));
  if (context.node_names) return *context.node_names;
  return config_of(context).pseudo_node_names ? meaningless : host_names;
}

}  // namespace sublet::syncer
