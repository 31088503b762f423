// ListSource: the body of a list, made in steps: objects are looked for, and written in the asked form, some 64 KiB at
// a time, from a snapshot that stays as it is meanwhile.
//
// Without a limit objects are written as they are found. A page's head says what stands behind it, so a page is first
// found, then written; protobuf says its length first, so its items are found and measured before (small ones are kept
// from that, the others encoded again: memory stays bounded). Pretty JSON and YAML are rendered in one piece at the
// end. Threads: as net::BodySource.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "apiserver/codec/object_filter.h"
#include "apiserver/codec/object_writer.h"
#include "apiserver/verbs/read_steps.h"
#include "sublet/net/body_source.h"

namespace sublet::apiserver {

/// The objects of one list, found in steps.
class Selection {
 public:
  /// `limit` 0: none.
  Selection(store::Snapshot snapshot, std::string prefix, std::string_view start_after, ObjectFilter filter,
            std::int64_t limit);
  /// Looks at some more objects and appends those that match; `found` is what the steps before gave when there is a
  /// limit. Returns how many were looked at.
  std::size_t step(std::vector<store::ObjectPtr>& found);
  bool done() const { return done_; }
  bool limited() const { return limit_ > 0; }
  /// What a page's head says of what stands behind its last object.
  void describe_rest(const store::Object& last, ListMeta& meta) const;

 private:
  bool take(const store::ObjectPtr& object, std::vector<store::ObjectPtr>& found);

  store::Snapshot snapshot_;
  const std::string prefix_;
  std::string cursor_;  // the last key looked at; empty: at the beginning
  const ObjectFilter filter_;
  const std::size_t limit_;
  bool done_ = false, more_ = false;
};

class ListSource final : public net::BodySource {
 public:
  ListSource(ContextPtr context, ObjectWriter writer, ListMeta meta, Selection selection,
             std::size_t step_bytes = net::kStepBytes);
  /// Of objects that are found already.
  ListSource(ContextPtr context, ObjectWriter writer, ListMeta meta, std::vector<store::ObjectPtr> objects);
  Result<Step> next(std::string& out, const std::shared_ptr<net::Waker>& waker) override;

 private:
  /// What a step has done so far, in bytes: found, parsed or written.
  struct Work {
    std::size_t done = 0;
  };
  bool must_find_all() const;
  bool find_all(Work& work);
  Result<bool> measure(Work& work);
  void write_head(std::string& out);
  Result<bool> write_items(std::string& out, Work& work);
  std::size_t bytes_ahead(std::size_t room) const;
  Outcome write_item(std::string& out, const store::Object& object);
  void write_tail(std::string& out);

  const ContextPtr context_;
  const ObjectWriter writer_;
  ListMeta meta_;
  std::optional<Selection> selection_;  // empty: all is found
  const std::size_t step_bytes_;
  const WallTime now_;

  std::vector<store::ObjectPtr> objects_;  // found and not yet all written
  std::size_t at_ = 0;                     // of objects_, the next to write
  bool head_written_ = false, wrote_item_ = false;
  std::string whole_;  // what is rendered at the end

  // protobuf
  std::size_t measured_ = 0, items_bytes_ = 0;
  std::vector<std::string> kept_;  // the first items, encoded
  std::size_t kept_bytes_ = 0;
};

}  // namespace sublet::apiserver
