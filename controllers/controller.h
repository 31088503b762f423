// Controller: one duty of the virtual cluster. Reconciles one key at a time on the shared worker thread; informers' and
// watches' callbacks only put keys in line. Internal to controllers/.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sublet/base/clock.h"
#include "sublet/controllers/controllers.h"
#include "sublet/kube/client.h"
#include "sublet/kube/informer.h"

namespace sublet::controllers {

/// What every controller works with. Lives as long as all of them.
struct Hub {
  const kube::Client client;
  net::Loop& loop;
  const ControllersOptions& options;
  Clock& clock;
  kube::Informer& namespaces;
  /// Puts a key of a controller in line, at once or later. Any thread.
  std::function<void(std::string_view controller, const std::string& key)> enqueue;
  std::function<void(std::string_view controller, const std::string& key, std::chrono::milliseconds delay)>
      enqueue_after;
};

class Controller {
 public:
  virtual ~Controller() = default;
  /// No '/' in it.
  virtual std::string_view name() const = 0;
  /// Adds handlers to shared informers (before they start) and starts its own.
  virtual void start() = 0;
  /// Brings the world of this key to what it should be. An error comes back after a back-off.
  virtual Outcome reconcile(const std::string& key) = 0;
};

std::unique_ptr<Controller> make_namespace_controller(const Hub& hub);
std::unique_ptr<Controller> make_defaults_controller(const Hub& hub);
std::unique_ptr<Controller> make_kubernetes_service_controller(const Hub& hub);
std::unique_ptr<Controller> make_event_controller(const Hub& hub);

inline const kube::Resource kNamespaces{"", "v1", "namespaces"};

/// An informer of the objects of one name.
std::unique_ptr<kube::Informer> informer_of_name(const Hub& hub, kube::Resource resource, std::string namespace_name,
                                                 const std::string& name);
/// Creates the object. One that is there already, or a namespace that is gone or going, is as good.
Outcome ensure_created(const kube::Client& client, const kube::Resource& resource, const std::string& namespace_name,
                       const schema::Value& object);

}  // namespace sublet::controllers
