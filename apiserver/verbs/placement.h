// Placement: which threads work on a request.
//
// A request begins on its loop. Work that would delay the loop's other requests moves to workers. place_of() is the
// only function that decides this; everything else describes its work and calls run_placed().
//
//   caller        the thread that asks: small work
//   large_writes  bodies and stored objects over kLoopBytesMax; decided again for every step
//   slow_writes   writes of kinds that are slow to validate (Strategy::is_slow_to_validate): one worker, in order of
//                 arrival
//   conversions   objects that a webhook converts (WebhookConversion): workers that may block on the webhook
//
// Lifecycle: a request that moved to slow_writes or conversions stays there until it ends. What it waits for (a commit,
// a call outside, a revision) resumes it with resume(). Errors: a full place answers 429, a server that stops 503.
// Threads: any; one at a time for each request. Answers may be given on any thread.
#pragma once

#include <functional>

#include "apiserver/request/request_context.h"

namespace sublet::apiserver {

/// Decoding, merging, validating and encoding cost about 50 ms per MiB.
inline constexpr std::size_t kLoopBytesMax = 64 * 1024;

/// What a step of a request is going to do.
struct Work {
  Place moved_to = Place::caller;  // where an earlier step of the request moved it
  std::size_t bytes = 0;           // of the body, and of the stored object that it changes
  bool is_slow_write = false;      // of a kind that is slow to validate
  bool needs_webhook = false;      // has objects converted by a webhook
  bool only_answers = false;       // encodes the answer of a write
};
Place place_of(const Work& work);

/// Runs `step` at its place: at once when this thread is that place, else queued. Answers the request when there is no
/// room, or when the server stops before the step runs. `work.moved_to` is the request's.
void run_placed(const ContextPtr& context, Work work, std::function<void()> step);
/// Continues a request that has waited: queued where it was moved to, at once when it was not moved.
void resume(const ContextPtr& context, std::function<void()> step);
/// The same, but always queued (on the request's loop when it was not moved): other requests get their turn first.
void resume_later(const ContextPtr& context, std::function<void()> step);
/// Runs a verb at its place, once what the kind needs is compiled (Strategy::ready).
void run_verb_placed(const ContextPtr& context, void (*verb)(const ContextPtr& context));

}  // namespace sublet::apiserver
