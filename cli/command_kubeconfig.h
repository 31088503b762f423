// CommandKubeconfig: a private kubeconfig for one command (`sublet connect NAME -- COMMAND`), removed when it ends.
//
// The file is in memory where the machine has a place for that ($XDG_RUNTIME_DIR, /dev/shm), else in the folder for
// temporary files, so that a full disk does not stop the command. A lock on it is inherited by the command: a file
// without a lock was left by a `sublet` that was killed, and the next one removes it.
// Threads: one.
#pragma once

#include <string>
#include <vector>

#include "sublet/base/descriptor.h"
#include "sublet/base/status.h"
#include "sublet/kube/kubeconfig.h"

namespace sublet::cli {

class CommandKubeconfig {
 public:
  CommandKubeconfig() = default;
  ~CommandKubeconfig();
  CommandKubeconfig(const CommandKubeconfig&) = delete;
  CommandKubeconfig& operator=(const CommandKubeconfig&) = delete;

  /// Writes into the first of `places` that takes it; the error names the last.
  Outcome write(const kube::ClusterAccess& access, const std::vector<std::string>& places = default_places());
  /// Of the file; "" before write().
  const std::string& path() const { return path_; }

  static std::vector<std::string> default_places();

 private:
  std::string path_;
  Descriptor lock_;
};

}  // namespace sublet::cli
