// Deletes certificate requests an hour after they were answered, and unanswered ones after a day.
// Unlike upstream's, which looks every hour, each is waited for by itself; a certificate that has run out goes with the
// hour after its approval.
// Source: pkg/controller/certificates/cleaner of Kubernetes.

#include <optional>

#include "controllers/runtime/calls.h"
#include "sublet/controllers/controller.h"
#include "sublet/controllers/controllers.h"
#include "sublet/kube/json_scan.h"

namespace sublet::controllers {
namespace {

using schema::Value;
using std::chrono::hours;
using std::chrono::milliseconds;

const kube::Resource kRequests{"certificates.k8s.io", "v1", "certificatesigningrequests"};
constexpr hours kAnswered{1}, kWaiting{24};

/// When the request is to go.
std::optional<WallTime> end_of(const Value& request) {
  const auto status = request["status"];
  std::optional<WallTime> end;
  for (Value condition : status["conditions"]) {
    const auto type = condition["type"].text();
    const auto since = parse_time(condition["lastUpdateTime"].text());
    if (!since) continue;
    const bool issued = !status["certificate"].text().empty();
    const auto due = *since + (type == "Approved" && !issued ? kWaiting : kAnswered);
    if (type == "Approved" || type == "Denied" || type == "Failed") end = std::min(end.value_or(due), due);
  }
  if (end || !status["conditions"].empty()) return end;
  if (auto made = parse_time(request["metadata"]["creationTimestamp"].text())) return *made + kWaiting;
  return std::nullopt;
}

class CertificateCleanerController final : public Controller {
 public:
  explicit CertificateCleanerController(Context& context) : context_(context), requests_(context.lister(kRequests)) {}

  void start() override {
    context_.on_change(kRequests, [this](const Change& change) {
      if (change.after) context_.enqueue(std::string(name_of(*change.after)));
    });
  }

  Outcome reconcile(const std::string& key) override {
    const auto stored = requests_.get("", key);
    if (!stored) return {};
    const auto end = end_of(document_of(*stored).root());
    if (!end) return {};
    if (const auto left = *end - context_.clock().now(); left >= milliseconds(0)) {
      context_.enqueue_after(key, std::chrono::ceil<milliseconds>(left) + milliseconds(1));
      return {};
    }
    kube::DeleteOptions options;
    options.uid = stored->index.uid;
    return settled(context_.client().remove(kRequests, "", key, options));
  }

 private:
  Context& context_;
  const Lister requests_;
};

}  // namespace

std::unique_ptr<Controller> make_certificate_cleaner_controller(Context& context) {
  return std::make_unique<CertificateCleanerController>(context);
}

}  // namespace sublet::controllers
