// Pod: a stored pod and what controllers ask of it.
//
// Its metadata and status are parsed once, its spec only when asked for. A value (copies share what was parsed);
// threads: read from any, one at a time.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sublet/base/clock.h"
#include "sublet/schema/document.h"
#include "sublet/store/store.h"

namespace sublet::controllers {

/// Succeeded or failed, without a parse.
bool has_ended(const store::Object& pod);

class Pod {
 public:
  explicit Pod(store::ObjectPtr object);

  const store::Object& stored() const { return *object_; }
  const store::ObjectPtr& object() const { return object_; }
  std::string_view name() const;
  std::string_view namespace_name() const;
  std::string uid() const { return object_->index.uid.str(); }
  std::string_view node() const;  // "" while it has none
  std::string key() const;        // "namespace/name"

  /// Without its resourceVersion: stored().revision is that.
  schema::Value metadata() const { return parsed_->metadata.root(); }
  schema::Value status() const { return parsed_->status.root(); }
  /// Parses the object at each call.
  schema::Document spec() const;
  std::string_view label(std::string_view name) const;  // "" when it has none
  std::string_view annotation(std::string_view name) const { return metadata()["annotations"][name].text(); }

  std::string_view phase() const { return status()["phase"].text(); }
  schema::Value condition(std::string_view type) const;
  /// It has a deletionTimestamp.
  bool ending() const { return metadata().has("deletionTimestamp"); }
  /// Succeeded or failed.
  bool terminal() const { return phase() == "Succeeded" || phase() == "Failed"; }
  bool active() const { return !terminal() && !ending(); }
  bool terminating() const { return !terminal() && ending(); }
  bool ready() const { return condition("Ready")["status"].text() == "True"; }
  /// Ready for at least so long.
  bool available(std::chrono::seconds min_ready, WallTime now) const;
  /// When it will be available, if it is ready and nothing happens to it.
  std::optional<WallTime> available_at(std::chrono::seconds min_ready) const;
  std::optional<WallTime> ready_since() const;
  std::optional<WallTime> created() const;

 private:
  struct Parsed {
    schema::Document metadata, status;
  };
  store::ObjectPtr object_;
  std::shared_ptr<const Parsed> parsed_;
};

std::vector<Pod> pods_of(const std::vector<store::ObjectPtr>& objects);

/// How long until the first of the ready pods becomes available; nullopt when all are, or none is ready.
std::optional<std::chrono::milliseconds> next_availability(const std::vector<Pod>& pods, std::chrono::seconds min_ready,
                                                           WallTime now);

}  // namespace sublet::controllers
