// ListSource: the body of a list, made in steps: objects are looked for, and written in the asked form, some 64 KiB at
// a time, from a snapshot that stays as it is meanwhile.
//
// Without a limit objects are written as they are found. A page's head says how many objects follow it, so a page is
// first found, then written; protobuf says its length first, so its items are found and measured before. What that
// encodes is kept as long as the server's budget (kept_items) has room; the rest is encoded again. Pretty JSON and YAML
// are rendered in one piece at the end, off the loop. Threads: as net::BodySource.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apiserver/codec/object_filter.h"
#include "apiserver/codec/object_writer.h"
#include "apiserver/verbs/kept_seat.h"
#include "apiserver/verbs/read_steps.h"
#include "sublet/net/body_source.h"

namespace sublet::apiserver {

/// The objects of one list, found in steps. It holds their snapshot, so the objects live as long as it does and need no
/// reference counts.
class Selection {
 public:
  /// `limit` 0: none.
  Selection(store::Snapshot snapshot, std::string prefix, std::string_view start_after, ObjectFilter filter,
            std::int64_t limit);
  /// Looks at some more objects and appends those that match; `found` is what the steps before gave when there is a
  /// limit. Returns what that counts for, in bytes written.
  Result<std::size_t> step(std::vector<const store::Object*>& found);
  bool done() const { return done_; }
  bool limited() const { return limit_ > 0; }
  /// Fills in what a page's head says about the objects after its last one.
  void describe_rest(const store::Object& last, ListMeta& meta) const;

 private:
  Result<std::size_t> step_by_name(std::string_view name, std::vector<const store::Object*>& found);
  Result<std::size_t> step_reading(std::vector<const store::Object*>& found);
  bool take(const store::Object& object, std::vector<const store::Object*>& found);

  store::Snapshot snapshot_;
  const std::string prefix_;
  std::string cursor_;  // the last key looked at; empty: at the beginning
  const ObjectFilter filter_;
  const std::size_t limit_;
  bool done_ = false, more_ = false;
};

/// Answers with the list in one piece, where one may wait: of objects that somebody else converts (WebhookConversion).
/// `found`: what the selection has found already.
void reply_converted(const ContextPtr& context, const ObjectWriter& writer, ListMeta meta, Selection selection,
                     std::vector<const store::Object*> found = {});

class ListSource final : public net::BodySource {
 public:
  ListSource(ContextPtr context, ObjectWriter writer, ListMeta meta, Selection selection,
             std::size_t step_bytes = net::kStepBytes);
  /// Of objects that the selection has found already.
  ListSource(ContextPtr context, ObjectWriter writer, ListMeta meta, Selection selection,
             std::vector<const store::Object*> found);
  ~ListSource() override;
  Result<Step> next(std::string& out, const std::shared_ptr<net::Waker>& waker) override;

 private:
  struct Rendering;
  /// What a step has done so far, in bytes: found, parsed or written.
  struct Work {
    std::size_t done = 0;
  };
  Result<bool> write(std::string& out);
  Step render(std::string& out, const std::shared_ptr<net::Waker>& waker);
  Step end();
  bool must_find_all() const;
  Result<bool> find_all(Work& work);
  Result<bool> measure(Work& work);
  void keep(std::string item);
  void write_head(std::string& out);
  Result<bool> write_items(std::string& out, Work& work);
  std::size_t bytes_ahead(std::size_t room) const;
  Outcome write_item(std::string& out, const store::Object& object);
  void write_tail(std::string& out);

  const ContextPtr context_;
  std::shared_ptr<KeptSeat> seat_;  // of an answer that is longer than a step
  const ObjectWriter writer_;
  ListMeta meta_;
  Selection selection_;
  const std::size_t step_bytes_;
  const WallTime now_;

  std::vector<const store::Object*> objects_;  // found and not yet all written
  std::size_t at_ = 0;                         // of objects_, the next to write
  bool head_written_ = false, wrote_item_ = false;
  std::string whole_;                     // what is rendered at the end
  std::shared_ptr<Rendering> rendering_;  // while that is under way

  // protobuf
  std::size_t measured_ = 0, items_bytes_ = 0;
  std::deque<std::string> kept_;  // the first items, encoded, some in each piece
  std::size_t kept_items_ = 0, kept_bytes_ = 0;
};

}  // namespace sublet::apiserver
