#include "apiserver/strategies/kind_facts.h"

namespace sublet::apiserver {

Strategy row_of(const KindFacts& facts) {
  Strategy row;
  row.group = facts.group;
  row.resource = facts.resource;
  row.name_rule = facts.name_rule;
  row.defaults = facts.defaults;
  row.generation = facts.is(kGeneration);
  row.create_on_update = facts.is(kCreateOnUpdate);
  row.unconditional_update = !facts.is(kUpdateNeedsVersion);
  row.delete_returns_object = facts.is(kReturnsDeleted);
  row.prepare_create = drop_status;
  row.prepare_update = keep_status;
  row.prepare_status_update = facts.is(kSealsMetadata) ? keep_all_but_status : keep_other_members;
  row.validate = facts.validate;
  row.validate_create = facts.validate_create;
  row.validate_update = facts.validate_update;
  row.validate_status_update = facts.validate_status;
  row.is_skipped = facts.is_skipped;
  row.skip_places = facts.skip_places;
  if (facts.is(kAnyFinalizer)) row.finalizers = FinalizerRule::any_name;
  return row;
}

}  // namespace sublet::apiserver
