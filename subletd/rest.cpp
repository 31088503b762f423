#include "subletd/rest.h"

#include <link.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bit>
#include <cstdint>
#include <ctime>
#include <utility>

namespace sublet::subletd {
namespace {

using std::chrono::nanoseconds;

/// Less than this between two looks is rest: heartbeats of watches, a probe of /readyz.
constexpr nanoseconds kAlmostNothing = std::chrono::milliseconds(10);
/// Less than this since memory was last given back has not touched enough to do it again.
constexpr nanoseconds kWorked = std::chrono::milliseconds(20);

// The read-only segments of one loaded file. One with relocations is writable in its header, and stays.
int unmap_read_only(dl_phdr_info* object, std::size_t /*size*/, void* /*data*/) {
  if (object->dlpi_phnum == 0) return 0;
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const auto& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0) continue;
    const std::uintptr_t begin = (object->dlpi_addr + segment.p_vaddr) & ~(page - 1);
    const std::uintptr_t end = (object->dlpi_addr + segment.p_vaddr + segment.p_memsz + page - 1) & ~(page - 1);
    // Clean pages of a file: dropping them loses nothing. What is refused (the kernel's own object) stays.
    ::madvise(std::bit_cast<void*>(begin), end - begin, MADV_DONTNEED);
  }
  return 0;
}

}  // namespace

Rest::Rest(Used used, std::function<void()> give_back) : used_(std::move(used)), give_back_(std::move(give_back)) {}

void Rest::look() {
  const nanoseconds now = used_();
  const bool rests = now - std::exchange(at_last_look_, now) < kAlmostNothing;
  if (!rests || now - at_give_back_ < kWorked) return;
  give_back_();
  at_give_back_ = at_last_look_ = used_();  // giving back is no work that asks for another
}

nanoseconds processor_time() {
  timespec spent{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
  return std::chrono::seconds(spent.tv_sec) + nanoseconds(spent.tv_nsec);
}

void give_memory_back() {
  ::malloc_trim(0);
  ::dl_iterate_phdr(unmap_read_only, nullptr);
}

}  // namespace sublet::subletd
