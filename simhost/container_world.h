// What the processes of a simulated container see: environment, files, command line, host name.
//
// Volumes: emptyDir belongs to the pod and hostPath to the node. ConfigMaps, Secrets and the downward API (projected
// ones too) are written into their tree when the world is made and by refresh_volumes(). Any other volume (a claim, a
// token) is an empty folder. Pure, except for the lookup.
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
  const schema::Value& container;         // of its spec
  const schema::Value& node_allocatable;  // what a missing limit counts as
  std::string_view pod_ip, host_ip;
  Trees& volumes;     // of the pod, by volume name
  Trees& host_paths;  // of the node, by path
  const Lookup& lookup;
};

/// A new world: an empty file system of its own, the mounts, the environment.
shell::World make_world(const WorldSource& source, WallTime start, Random& random);
/// Writes what ConfigMaps, Secrets and the pod's metadata are now into the volumes that show them.
void refresh_volumes(const WorldSource& source, WallTime now);
/// The host name of a pod, as the kubelet makes it from its spec and name.
std::string host_name(const schema::Value& pod);
/// `command` and `args` with $(NAME) replaced; empty when the image's own program runs.
shell::Words command_line(const schema::Value& container, const shell::Variables& variables);
/// A command as probes and hooks give it, after the same replacement.
shell::Words words_of(const schema::Value& command, const shell::Variables& variables);

}  // namespace sublet::simhost
