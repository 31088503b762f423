// JobPass: one reconcile of one Job: counts, creates and deletes its pods and writes its status.
//
// A pod that has ended is counted in two steps, so that none is counted twice or lost: its uid is written into the
// Job's status, then its finalizer goes, then the counters take the uid's place. Lifecycle: made and run once. Threads:
// one; passes of different Jobs may run at once. Source: pkg/controller/job/job_controller.go of Kubernetes.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "controllers/job/job_facts.h"
#include "controllers/runtime/object_ref.h"
#include "sublet/base/mutex.h"
#include "sublet/controllers/controller.h"

namespace sublet::controllers {

/// How often the pods of each Job failed in a row; as upstream's, forgotten with the process. Threads: any.
class JobBackoffs {
 public:
  BackoffRecord get(const std::string& key) const;
  void put(const std::string& key, const BackoffRecord& record);
  void forget(const std::string& key);

 private:
  mutable Mutex mutex_;
  std::unordered_map<std::string, BackoffRecord> records_ SUBLET_GUARDED_BY(mutex_);
};

class JobPass {
 public:
  struct Outside {
    const Context& context;
    const Lister &jobs, &pods;  // pods by owner and orphans
    JobBackoffs& backoffs;
  };
  JobPass(const Outside& outside, const store::Object& stored);
  Outcome run();

 private:
  struct Verdict {
    std::string_view type;  // of the condition: FailureTarget, Failed, SuccessCriteriaMet, Complete
    std::string reason, message;
  };

  Outcome claim_pods();
  void count_pods();
  void count_indexes();
  std::vector<Pod> uncounted(const std::set<std::string>& known, bool (*wanted)(const Pod&, const JobSpec&)) const;
  bool has_valid_index(const Pod& pod) const;
  void start_clock();

  void judge();
  void judge_limits();
  void judge_indexes();

  Outcome end_active_pods();
  Outcome manage();
  Outcome manage_or_wait();
  Outcome make_pods(std::int64_t count);
  Outcome remove_pods(const std::vector<Pod>& pods, bool with_finalizer);
  std::vector<Pod> surplus(std::int64_t least) const;
  std::int64_t wanted_active() const;
  std::vector<std::int64_t> indexes_to_make(std::int64_t count, std::chrono::milliseconds& wait) const;
  schema::Document make_pod(std::int64_t index) const;
  void say_suspension();

  Outcome track();
  std::vector<Pod> take_count(bool& more);
  bool may_release(const Pod& pod, bool failed) const;
  void put_indexes(const IndexRanges& fresh);
  void put_interim_condition();
  bool settle_uncounted();
  Outcome release_finalizers(const std::vector<Pod>& pods);
  bool enact_end();
  void say_end();
  Outcome write_status();

  schema::Value status() { return job_.root().object("status"); }
  bool put_count(std::string_view member, std::int64_t value);
  bool put_condition(std::string_view type, std::string_view value, const std::string& reason,
                     const std::string& message);
  void append_condition(const Verdict& verdict);

  const Outside out_;
  schema::Document job_;
  const JobSpec spec_;  // its values are of job_
  const ObjectRef ref_;
  const std::string key_;
  const WallTime now_;

  std::vector<Pod> pods_, active_;
  std::int64_t active_count_ = 0, ready_ = 0, terminating_ = 0, succeeded_ = 0, failed_ = 0;
  std::set<std::string> counted_succeeded_, counted_failed_;  // uids in the status, on their way into the counters
  std::set<std::string> held_;                                // uids of pods with the finalizer
  IndexRanges known_indexes_, done_indexes_, failed_indexes_;
  std::map<std::int64_t, Pod> to_replace_;  // by index: the failed pod that hands its count over to the next
  BackoffRecord backoff_;
  std::optional<Verdict> verdict_;
  bool changed_ = false;  // the status is to be written
};

/// Takes the finalizer off pods. Returns the uids of those that have none now or are gone.
Outcome release_job_pods(const kube::Client& client, const std::vector<Pod>& pods, std::set<std::string>* released);

}  // namespace sublet::controllers
