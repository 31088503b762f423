// Controller: one duty of the virtual cluster, and Context, all that it is given to do it.
//
// A controller says in start() what it reads (listers) and which changes concern it; a change only puts a key in line.
// reconcile(key) then brings the world of that key to what it should be: it reads through listers and writes through
// the client, and never remembers what happened, only what is. An error brings the key back after a growing delay.
// Threads: a key is never reconciled twice at a time; of one controller at most workers() keys are. Change handlers run
// on the store's commit thread and must be quick: compare, enqueue.
// Lifecycle: made, start() once, reconcile() until the runtime stops; the Context outlives it. While there is nothing
// to do a controller owns no thread and no timer.
#pragma once

#include <chrono>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include "sublet/base/clock.h"
#include "sublet/base/status.h"
#include "sublet/controllers/lister.h"
#include "sublet/kube/client.h"
#include "sublet/store/store.h"

namespace sublet::controllers {

struct ControllersOptions;
class EventRecorder;
class Feeds;
class Line;

/// `before` is null for what came to be (or was there at the start), `after` for what went; never both.
struct Change {
  const store::ObjectPtr& before;
  const store::ObjectPtr& after;
  /// The latest of the two.
  const store::Object& object() const { return after ? *after : *before; }
};
using ChangeHandler = std::function<void(const Change& change)>;

class Context {
 public:
  Context(const kube::Client& client, const EventRecorder& events, const ControllersOptions& options, Clock& clock,
          Feeds& feeds, Line& line)
      : client_(client), events_(events), options_(options), clock_(clock), feeds_(feeds), line_(line) {}

  /// For writes, and for reads that must come from the API itself; with the controller's own identity.
  const kube::Client& client() const { return client_; }
  /// What the controller says about objects (controllers/runtime/event_recorder.h).
  const EventRecorder& events() const { return events_; }
  const ControllersOptions& options() const { return options_; }
  Clock& clock() const { return clock_; }

  // In start() or before.
  Lister lister(const kube::Resource& resource, std::initializer_list<By> indexes = {});
  void on_change(const kube::Resource& resource, ChangeHandler handler);
  /// The same of all kinds together, those to come too; of the lister only what asks an index makes sense.
  Lister lister_of_all(std::initializer_list<By> indexes);
  void on_any_change(ChangeHandler handler);

  /// Puts a key in line, at once or later. Any thread.
  void enqueue(const std::string& key) const;
  void enqueue_after(const std::string& key, std::chrono::milliseconds delay) const;

  /// The store as it is now; listers look at the same.
  store::Snapshot snapshot() const;
  /// Puts the key in line once an object of this kind and namespace goes that was there at `revision`, for as long as
  /// the answer lives. For what is waited for seldom: a kind that always concerns the controller is watched by
  /// on_change.
  std::unique_ptr<store::Subscription> enqueue_on_removal(const kube::Resource& resource,
                                                          std::string_view namespace_name, store::Revision revision,
                                                          const std::string& key) const;

 private:
  const kube::Client& client_;
  const EventRecorder& events_;
  const ControllersOptions& options_;
  Clock& clock_;
  Feeds& feeds_;
  Line& line_;
};

class Controller {
 public:
  virtual ~Controller() = default;
  virtual void start() = 0;
  virtual Outcome reconcile(const std::string& key) = 0;
  /// How many keys may be reconciled at a time; 1 spares the controller locks for what it remembers.
  virtual int workers() const { return 1; }
};

/// Creates the object. One that is there already, or a namespace that is gone or going, is as good.
Outcome ensure_created(const kube::Client& client, const kube::Resource& resource, const std::string& namespace_name,
                       const schema::Value& object);

}  // namespace sublet::controllers
