#include "apiserver/crd/naming.h"

#include <algorithm>
#include <vector>

namespace sublet::apiserver {
namespace {

using NameCounts = TakenNames::Counts;

std::string in_use(const std::string& name) { return "\"" + name + "\" is already in use"; }

/// Takes the name, or says why not.
void take_name(const std::string& wanted, std::string& accepted, const NameCounts& taken, const char* reason,
               Naming& naming) {
  if (wanted == accepted || !taken.contains(wanted)) {
    accepted = wanted;
    return;
  }
  naming.condition = {"NamesAccepted", "False", reason, in_use(wanted)};
}

/// As Go's aggregate of errors: one alone, several in brackets, each once.
std::string joined_problems(const std::vector<std::string>& problems) {
  std::vector<std::string> each;
  for (const auto& problem : problems)
    if (std::ranges::find(each, problem) == each.end()) each.push_back(problem);
  if (each.size() == 1) return each[0];
  std::string text = "[";
  for (const auto& problem : each) text += (text.size() > 1 ? ", " : "") + problem;
  return text + "]";
}

void take_short_names(const KindNames& wanted, const KindNames& had, const NameCounts& taken, Naming& naming) {
  if (wanted.short_names == had.short_names) return;
  std::vector<std::string> problems;
  for (const auto& name : wanted.short_names)
    if (std::ranges::find(had.short_names, name) == had.short_names.end() && taken.contains(name))
      problems.push_back(in_use(name));
  if (problems.empty())
    naming.accepted.short_names = wanted.short_names;
  else
    naming.condition = {"NamesAccepted", "False", "ShortNamesConflict", joined_problems(problems)};
}

}  // namespace

void TakenNames::count(const KindNames& names, int more) {
  const auto put = [more](Counts& counts, const std::string& name) {
    if ((counts[name] += more) <= 0) counts.erase(name);
  };
  put(resources, names.plural);
  put(resources, names.singular);
  for (const auto& name : names.short_names) put(resources, name);
  put(kinds, names.kind);
  put(kinds, names.list_kind);
}

Naming accept_names(const KindNames& wanted, const KindNames& had, const TakenNames& taken) {
  Naming naming{had, {"NamesAccepted", "True", "NoConflicts", "no conflicts found"}};
  KindNames& accepted = naming.accepted;
  take_name(wanted.plural, accepted.plural, taken.resources, "PluralConflict", naming);
  take_name(wanted.singular, accepted.singular, taken.resources, "SingularConflict", naming);
  take_short_names(wanted, had, taken.resources, naming);
  take_name(wanted.kind, accepted.kind, taken.kinds, "KindConflict", naming);
  take_name(wanted.list_kind, accepted.list_kind, taken.kinds, "ListKindConflict", naming);
  accepted.categories = wanted.categories;
  return naming;
}

}  // namespace sublet::apiserver
