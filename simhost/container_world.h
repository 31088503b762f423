// What the processes of a simulated container see: environment, files, command line. Pure, but for what it looks up.
//
// Volumes: emptyDir is the pod's, hostPath the node's, ConfigMaps and Secrets (projected ones too) are written into
// their tree when the world is made; everything else (claims, tokens, the downward API) is an empty folder.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "simhost/pod_dependencies.h"
#include "simhost/shell/shell.h"
#include "sublet/kube/informer.h"
#include "sublet/schema/document.h"

namespace sublet::simhost {

/// A ConfigMap or Secret of the pod's namespace; null when there is none.
using Lookup = std::function<kube::CachedPtr(Dependency::Kind, std::string_view name)>;
using Trees = std::map<std::string, std::shared_ptr<shell::FileTree>>;

/// What a world is made from. `volumes` and `host_paths` are filled as they are first used.
struct WorldSource {
  const schema::Value& pod;
  const schema::Value& container;  // of its spec
  std::string_view pod_ip, host_ip;
  Trees& volumes;     // of the pod, by volume name
  Trees& host_paths;  // of the node, by path
  const Lookup& lookup;
};

/// A fresh world: an empty file system of its own, the mounts, the environment.
shell::World make_world(const WorldSource& source, WallTime start, Random& random);
/// `command` and `args` with $(NAME) replaced; empty when the image's own program runs.
shell::Words command_line(const schema::Value& container, const shell::Variables& variables);
/// A command as probes and hooks give it, after the same replacement.
shell::Words words_of(const schema::Value& command, const shell::Variables& variables);

}  // namespace sublet::simhost
