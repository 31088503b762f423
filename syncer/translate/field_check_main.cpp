// field_check: fails the build when the border's field table and the generated schema differ, so that a field of a
// newer Kubernetes can neither be forgotten nor cross unseen.
#include <cstdio>

#include "syncer/translate/field_check.h"

int main() {
  const auto problems = sublet::syncer::check_field_table(*sublet::schema::Registry::builtin());
  for (const std::string& problem : problems) std::fprintf(stderr, "field_check: %s\n", problem.c_str());
  return problems.empty() ? 0 : 1;
}
