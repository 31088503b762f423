// History: the ControllerRevisions in which StatefulSets and DaemonSets keep the templates that they had, as the
// strategic merge patches that `kubectl rollout undo` applies.
//
// Functions of documents; those that are given a client write.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "controllers/pods/claim.h"
#include "sublet/schema/document.h"

namespace sublet::controllers {

extern const kube::Resource kRevisionResource;

/// The patch that brings this template back; its members sorted, as Go writes maps.
schema::Document revision_data(const schema::Value& pod_template);
/// The template that the revision holds.
schema::Document template_of_revision(const schema::Value& revision);
/// A revision to be created.
schema::Document new_revision(const schema::Value& set, const ObjectRef& owner, const std::string& name,
                              std::int64_t number);
/// FNV-1 of the patch and the number of collisions, as upstream has it.
std::string revision_hash(const schema::Value& data, std::int64_t collisions);
std::string revision_name(std::string_view owner, std::string_view hash);

std::int64_t number_of(const schema::Value& revision);
/// By their numbers; of the same number the older first.
void sort_revisions(std::vector<schema::Document>& revisions);
/// The revisions that are the claimant's, sorted, after adoptions; the lister needs By::owner and By::orphan.
Result<std::vector<schema::Document>> claimed_revisions(const kube::Client& client, const Lister& lister,
                                                        const Claimant& claimant);

/// Gives a revision a new number. The answer.
Result<schema::Document> renumber(const kube::Client& client, const schema::Value& revision, std::int64_t number);
/// Removes the oldest of those that are not `live` (by name), until no more than `limit` of them are left.
Outcome truncate_history(const kube::Client& client, const std::vector<schema::Document>& revisions,
                         const std::function<bool(const schema::Value& revision)>& live, std::int64_t limit);

}  // namespace sublet::controllers
