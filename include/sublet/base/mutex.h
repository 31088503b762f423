// Mutex, MutexLock, CondVar, RecursiveMutex: the standard library's, with the words by which clang's thread-safety
// analysis checks them.
//
// Every member that a Mutex guards says so by SUBLET_GUARDED_BY(mutex), every function that wants it held by
// SUBLET_REQUIRES(mutex); the clang builds (the sanitizers' presets) and `make lint` fail where that is not so. GCC
// reads nothing of it, and the types cost what std::mutex, std::unique_lock and std::condition_variable cost. The
// analysis does not see which locks a lambda is called under, so what is waited for says it as a function would:
//   changed_.wait(lock, [this]() SUBLET_REQUIRES(mutex_) { return ready_; });
// A RecursiveMutex is for what calls out under its lock to those who may come back; it has a lock of its own and no
// CondVar. Threads: any. A MutexLock belongs to the thread that made it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

#ifdef __clang__
#define SUBLET_THREAD_SAFETY(words) __attribute__((words))
#else
#define SUBLET_THREAD_SAFETY(words)
#endif
/// Read and written only while the mutex is held.
#define SUBLET_GUARDED_BY(mutex) SUBLET_THREAD_SAFETY(guarded_by(mutex))
/// What the pointer leads to is, not the pointer itself.
#define SUBLET_PT_GUARDED_BY(mutex) SUBLET_THREAD_SAFETY(pt_guarded_by(mutex))
/// To be called with the mutex held, and to be called without it.
#define SUBLET_REQUIRES(...) SUBLET_THREAD_SAFETY(requires_capability(__VA_ARGS__))
#define SUBLET_EXCLUDES(...) SUBLET_THREAD_SAFETY(locks_excluded(__VA_ARGS__))
#define SUBLET_ACQUIRE(...) SUBLET_THREAD_SAFETY(acquire_capability(__VA_ARGS__))
#define SUBLET_RELEASE(...) SUBLET_THREAD_SAFETY(release_capability(__VA_ARGS__))
#define SUBLET_TRY_ACQUIRE(...) SUBLET_THREAD_SAFETY(try_acquire_capability(__VA_ARGS__))
/// For what the analysis cannot follow; says why beside it.
#define SUBLET_NO_THREAD_SAFETY_ANALYSIS SUBLET_THREAD_SAFETY(no_thread_safety_analysis)

namespace sublet {

class SUBLET_THREAD_SAFETY(capability("mutex")) Mutex {
 public:
  void lock() SUBLET_ACQUIRE() { mutex_.lock(); }
  void unlock() SUBLET_RELEASE() { mutex_.unlock(); }
  bool try_lock() SUBLET_TRY_ACQUIRE(true) { return mutex_.try_lock(); }

 private:
  friend class MutexLock;
  std::mutex mutex_;
};

/// Holds the mutex while it lives, but for what lies between unlock() and lock().
class SUBLET_THREAD_SAFETY(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) SUBLET_ACQUIRE(mutex) : lock_(mutex.mutex_) {}
  ~MutexLock() SUBLET_RELEASE() {}
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  void lock() SUBLET_ACQUIRE() { lock_.lock(); }
  void unlock() SUBLET_RELEASE() { lock_.unlock(); }

 private:
  friend class CondVar;
  std::unique_lock<std::mutex> lock_;
};

/// What the waits with a predicate call is checked where it is written, not where it is called from here.
class CondVar {
 public:
  /// Wakes also without a reason, so callers ask again.
  void wait(MutexLock& lock) { changed_.wait(lock.lock_); }
  /// False when the time has come.
  template <class Clock, class Duration>
  bool wait_until(MutexLock& lock, const std::chrono::time_point<Clock, Duration>& time) {
    return changed_.wait_until(lock.lock_, time) == std::cv_status::no_timeout;
  }
  template <class Rep, class Period>
  bool wait_for(MutexLock& lock, const std::chrono::duration<Rep, Period>& duration) {
    return changed_.wait_for(lock.lock_, duration) == std::cv_status::no_timeout;
  }
  /// Until it is true; false when the time came first.
  template <class Ready>
  void wait(MutexLock& lock, Ready ready) SUBLET_NO_THREAD_SAFETY_ANALYSIS {
    changed_.wait(lock.lock_, std::move(ready));
  }
  template <class Clock, class Duration, class Ready>
  bool wait_until(MutexLock& lock, const std::chrono::time_point<Clock, Duration>& time,
                  Ready ready) SUBLET_NO_THREAD_SAFETY_ANALYSIS {
    return changed_.wait_until(lock.lock_, time, std::move(ready));
  }
  template <class Rep, class Period, class Ready>
  bool wait_for(MutexLock& lock, const std::chrono::duration<Rep, Period>& duration,
                Ready ready) SUBLET_NO_THREAD_SAFETY_ANALYSIS {
    return changed_.wait_for(lock.lock_, duration, std::move(ready));
  }
  void notify_one() { changed_.notify_one(); }
  void notify_all() { changed_.notify_all(); }

 private:
  std::condition_variable changed_;
};

class SUBLET_THREAD_SAFETY(capability("mutex")) RecursiveMutex {
 private:
  friend class RecursiveLock;
  std::recursive_mutex mutex_;
};

class SUBLET_THREAD_SAFETY(scoped_lockable) RecursiveLock {
 public:
  explicit RecursiveLock(RecursiveMutex& mutex) SUBLET_ACQUIRE(mutex) : lock_(mutex.mutex_) {}
  ~RecursiveLock() SUBLET_RELEASE() {}

 private:
  const std::lock_guard<std::recursive_mutex> lock_;
};

}  // namespace sublet
