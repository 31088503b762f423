// PodSettings: vcluster.yaml's sync.toHost.pods as far as it decides what a host pod has; applied after the border's
// rows and before the template's patches (syncer/translate/pod_settings.cpp). Values; immutable once a template is
// loaded.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace sublet::patches {

/// "key=value:NoSchedule": of taints with this value; "key:NoSchedule": with any; without an effect, of every effect.
struct TolerationSetting {
  std::string key, value, effect;
  bool any_value = false;
};
/// False: it is none.
bool parse_toleration(std::string_view text, TolerationSetting& toleration);

struct PodSettings {
  std::map<std::string, std::string, std::less<>>
      images;                                  // .translateImage: an image, word for word, and what it is there
  std::vector<TolerationSetting> tolerations;  // .enforceTolerations: each pod has them, beside its own
  std::string runtime_class, priority_class;   // of pods that have none there
};

}  // namespace sublet::patches
