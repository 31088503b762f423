// Provisioner: makes a simulated volume for every claim that the host's volume binder asks one for, and takes it away
// when its claim is gone.
//
// The binder (controllers/storage) does the binding; it knows the storage class `standard`, which is the default one
// and asks for this provisioner. A volume holds nothing. Threads: write_class() from any but the loop's, the rest on
// the loop's.
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
