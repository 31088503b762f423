// synced_kinds_page: prints docs/synced-kinds.md.
#include <cstdio>

#include "syncer/synced_kinds_page.h"

int main() {
  std::fputs(sublet::syncer::synced_kinds_page().c_str(), stdout);
  return 0;
}
