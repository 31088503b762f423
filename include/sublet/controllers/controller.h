// Controller: reconciles the objects of one kind. Context: what a controller reads and writes with.
//
// start() declares what the controller reads (listers) and which changes concern it; a change handler only enqueues a
// key. reconcile(key) reads through listers, writes through the client, and decides by the present state alone, never
// by past events. After an error the key comes back with a growing delay.
// Threads: one reconcile per key at a time, and workers() keys per controller at most. Change handlers run on the
// store's commit thread and must be quick: compare, enqueue.
// Lifecycle: constructor, start() once, reconcile() until the runtime stops; the Context outlives it. An idle
// controller owns no thread and no timer.
#pragma once

#include <chrono>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include "sublet/base/clock.h"
#include "sublet/base/status.h"
#include "sublet/controllers/change.h"
#include "sublet/controllers/lister.h"
#include "sublet/kube/client.h"
#include "sublet/store/store.h"

namespace sublet::controllers {

struct ControllersOptions;
class EventRecorder;
class Feeds;
class Line;

class Context {
 public:
  Context(const kube::Client& client, const EventRecorder& events, const ControllersOptions& options, Clock& clock,
          Feeds& feeds, Line& line)
      : client_(client), events_(events), options_(options), clock_(clock), feeds_(feeds), line_(line) {}

  /// For writes, and for reads that must come from the API itself; with the controller's own identity.
  const kube::Client& client() const { return client_; }
  /// Records events about objects (controllers/runtime/event_recorder.h).
  const EventRecorder& events() const { return events_; }
  const ControllersOptions& options() const { return options_; }
  Clock& clock() const { return clock_; }

  // Call these in start() or before.
  Lister lister(const kube::Resource& resource, std::initializer_list<By> indexes = {});
  void on_change(const kube::Resource& resource, ChangeHandler handler);
  /// The same for all kinds together, including kinds installed later. Only the lister's index functions are useful.
  Lister lister_of_all(std::initializer_list<By> indexes);
  void on_any_change(ChangeHandler handler);

  /// Adds the key to the work queue, at once or later. Any thread.
  void enqueue(const std::string& key) const;
  void enqueue_after(const std::string& key, std::chrono::milliseconds delay) const;

  /// Returns the latest durable state, which listers read too.
  store::Snapshot snapshot() const;
  /// Enqueues the key when an object of this kind and namespace that existed at `revision` is removed, until the
  /// returned Subscription ends. For rare waits; use on_change() for kinds that always concern the controller.
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
  /// Returns how many keys may be reconciled at a time. With 1 the controller needs no locks for its own state.
  virtual int workers() const { return 1; }
};

/// Creates the object. Succeeds too when it exists already or when its namespace is missing or terminating.
Outcome ensure_created(const kube::Client& client, const kube::Resource& resource, const std::string& namespace_name,
                       const schema::Value& object);

}  // namespace sublet::controllers
