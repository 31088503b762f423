#include "subletd/idle_trim.h"

#include <malloc.h>

namespace sublet::subletd {

void trim_heap() { ::malloc_trim(0); }

void IdleTrim::look_later(net::Loop& loop) {
  loop.after(pace_.quiet, [this, &loop] { look(loop); });
}

void IdleTrim::look(net::Loop& loop) {
  const SteadyTime now = Clock::system().steady_now();
  if (touched_.exchange(false) || now - trimmed_ < pace_.between) return look_later(loop);
  trimmed_ = now;
  waiting_ = false;  // first: after a request that comes now one more look is to come
  trim_();
}

}  // namespace sublet::subletd
