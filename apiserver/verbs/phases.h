// Phases: the phases of a write, from its request to its commit.
//
//   decode -> authenticate -> authorize       filters, and the verb before its run begins
//   manage fields -> mutate -> validate       make and judge a Draft; mutate and validate may ask outside
//   plan -> commit                            the Txn against pending state, and the answer when it is durable
//
// A Draft is the object as it is to be stored, and the object that it changes. It is made once: when a guard of the Txn
// fails, only plan runs again, after the validating plugins have checked the newer state. An update is a function of
// the object that it changes (upstream's GuaranteedUpdate): when that object has really changed, the Draft is made
// again. Only plan writes into the Txn. During a call outside the run holds its Draft and nothing of the store. An
// answer that depends on pending state (an error, an update that changes nothing) waits until that state is durable,
// and is prepared again when it is undone: the next request reads what an answer said. Lifecycle: made by a verb,
// started once, held by what it waits for (commit, call outside) until it has answered. Threads: one at a time, on the
// request's thread first, then on the server's loop, or where placement.h puts it. Functions must not block.
#pragma once

#include <memory>
#include <optional>

#include "apiserver/admission/admission.h"
#include "apiserver/admission/reinvocation.h"
#include "apiserver/verbs/write_steps.h"

namespace sublet::apiserver {

class CallOut;
class CallOutPlugin;
enum class CallOutEnd;

enum class Phase : unsigned char { draft, mutate, validate, plan };

struct Draft {
  WriteVerb verb = WriteVerb::create;
  store::ObjectPtr current;  // what it changes; null: create
  schema::Document old;      // the same as a tree
  schema::Document object;   // storage version; unused by remove
  /// What metadata.managedFields becomes (null: none), when a verb says so itself; else the run finds out.
  std::optional<schema::Document> managed_fields = {};
  bool is_managed = false;  // the object has its managedFields already, and nothing that would be put in their place
  std::string absent_key = {};  // no object of this key may exist; the Draft is made again when one does
  bool named_here = false;      // its name was generated: it may have another one
  bool spent = false;           // plan() has changed it, so a further one makes it again
  Reinvocation rounds = {};     // of mutating admission
};

class WriteRun : public std::enable_shared_from_this<WriteRun> {
 public:
  explicit WriteRun(ContextPtr context);
  virtual ~WriteRun();
  void start();

 protected:
  /// Returns the Draft, as a function of the request and of the stored object.
  virtual Result<Draft> draft(Write& write) = 0;
  /// Most verbs use that of the draft's verb (plan_draft()).
  virtual Result<Plan> plan(Write& write, Draft& draft);
  /// Answers the request, unless the run is only a part of it.
  virtual void finish(const Result<Answer>& answer);

 private:
  enum class Step { done, waits };

  void run_placed();
  void run();
  void restart_with_webhook();
  bool stale(const Write& write) const;
  Result<Step> prepare(Write& write);
  Result<Step> mutate_outside(Write& write);
  Result<Step> ask_outside(Write& write, bool mutating);
  Result<Step> ask(const CallOutPlugin& plugin, const std::shared_ptr<CallOut>& call);
  void come_back(const CallOutPlugin& plugin, CallOut& call, CallOutEnd end);
  Outcome take_answer(Write& write, const CallOutPlugin& plugin, CallOut& call, CallOutEnd end);
  Outcome validate_again(Write& write);
  bool commit(Plan& plan);
  void committed(const Result<store::Committed>& result);
  void answer_when_durable(Result<Answer> answer, store::Revision seen);
  void again();

  const ContextPtr context_;
  const std::size_t first_warning_;  // how many the request had before
  std::size_t plan_warnings_ = 0;    // and before plan
  int attempts_;
  Phase phase_ = Phase::draft;
  std::optional<Draft> draft_;
  std::size_t next_call_ = 0;         // which plugin asks outside next
  bool adds_ = false;                 // the Txn under way has writes that are no deletion's
  store::Revision judged_at_ = 0;     // the pending state that validation has seen
  Result<Answer> answer_ = Answer();  // for when the commit is durable
};

// The phases, by the draft's verb: create.cpp, update.cpp; a removal has only admission to pass and its own plan.
/// Begins with defaults and metadata.managedFields (manage_fields()). Fields that admission and strategies change after
/// that have no manager, as upstream.
Outcome mutate_draft(Write& write, Draft& draft);
/// Begins with the kind's own changes, after all others (Strategy::prepare_create).
Outcome validate_draft(Write& write, Draft& draft);
Result<Plan> plan_draft(Write& write, Draft& draft);
/// All of them in a row, without calls outside: for the server's own objects.
Result<Plan> plan_at_once(Write& write, Draft& draft);

/// `object` as the new state of `current`.
Result<Draft> draft_of_change(const Route& route, store::ObjectPtr current, schema::Document object);
/// The same when `current` has been read already; `old` is what stored_document() gives.
Draft draft_of_change(store::ObjectPtr current, schema::Document old, schema::Document object);

Outcome mutate_new(Write& write, Draft& draft);
Outcome validate_new(Write& write, Draft& draft);
Result<Plan> plan_new(Write& write, Draft& draft);
Outcome mutate_change(Write& write, Draft& draft);
Outcome validate_change(Write& write, Draft& draft);
Result<Plan> plan_change(Write& write, Draft& draft);

}  // namespace sublet::apiserver
