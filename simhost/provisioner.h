// Provisioner: makes a simulated volume for every claim for which the host's volume binder asks for one, and deletes
// the volume when it is released.
//
// The binder (controllers/storage) does the binding. The default storage class `standard` names this provisioner. A
// volume has no content. Threads: write_class() from any thread but the loop's, the rest on the loop's.
#pragma once

#include "sublet/kube/client.h"
#include "sublet/kube/informer.h"
#include "sublet/kube/pipeline.h"

namespace sublet::simhost {

inline constexpr const char* kProvisioner = "simulated-volume.sublet.dev";

class Provisioner {
 public:
  Provisioner(const kube::Client& client, kube::Pipeline& pipeline) : client_(client), pipeline_(pipeline) {}

  Outcome write_class();
  void claim_changed(const schema::Value& claim);
  void volume_changed(const schema::Value& volume);

 private:
  const kube::Client& client_;
  kube::Pipeline& pipeline_;
};

}  // namespace sublet::simhost
