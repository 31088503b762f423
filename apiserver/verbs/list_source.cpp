// Map of this file: finding (Selection), then the phases of a body in order: find all, measure, head, items, tail,
// rendering.
#include "apiserver/verbs/list_source.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "apiserver/conversion/conversion.h"

namespace sublet::apiserver {
namespace {

constexpr std::size_t kLookedAtMax = 512;                // objects between two looks at how much a step has done
constexpr std::size_t kLookedAtBytes = 64;               // what looking at one object counts for, in bytes written
constexpr std::size_t kReadBytes = 2 * net::kStepBytes;  // of objects that a step reads to judge them, about

}  // namespace

// Finding -------------------------------------------------------------------------------------------------------------

Selection::Selection(store::Snapshot snapshot, std::string prefix, std::string_view start_after, ObjectFilter filter,
                     std::int64_t limit)
    : snapshot_(std::move(snapshot)),
      prefix_(std::move(prefix)),
      cursor_(start_after.empty() ? std::string() : prefix_ + std::string(start_after)),
      filter_(std::move(filter)),
      limit_(static_cast<std::size_t>(limit)) {}

/// Takes a matching object. False: the page is full, and this object comes after it.
bool Selection::take(const store::Object& object, std::vector<const store::Object*>& found) {
  more_ = limit_ > 0 && found.size() == limit_;
  if (!more_) found.push_back(&object);
  return !more_;
}

Result<std::size_t> Selection::step(std::vector<const store::Object*>& found) {
  if (const auto name = filter_.name(); name && prefix_.find('/') != prefix_.rfind('/'))
    return step_by_name(*name, found);
  if (filter_.reads_objects()) return step_reading(found);
  if (cursor_.empty() && filter_.everything()) found.reserve(std::min(snapshot_.count(prefix_), kLookedAtMax));
  std::size_t looked_at = 0;
  const store::Object* last = nullptr;
  snapshot_.scan(prefix_, cursor_, [&](const store::ObjectPtr& object) {
    last = object.get();
    const bool goes_on = !filter_.may_match(*object) || take(*object, found);
    return goes_on && ++looked_at < kLookedAtMax;
  });
  done_ = more_ || looked_at < kLookedAtMax;
  if (last) cursor_ = last->key;
  return looked_at * kLookedAtBytes;
}

/// There is one object at most.
Result<std::size_t> Selection::step_by_name(std::string_view name, std::vector<const store::Object*>& found) {
  done_ = true;
  const auto object = snapshot_.get(prefix_ + std::string(name));
  if (!object) return kLookedAtBytes;
  const auto matches = filter_.matches(*object);
  if (!matches) return fail(matches.error());
  if (*matches) take(*object, found);
  return kLookedAtBytes;
}

/// Of objects that must be read to be judged, and perhaps be converted for that: those of a step at once.
Result<std::size_t> Selection::step_reading(std::vector<const store::Object*>& found) {
  std::vector<const store::Object*> read;
  std::size_t looked_at = 0, bytes = 0;
  const store::Object* last = nullptr;
  snapshot_.scan(prefix_, cursor_, [&](const store::ObjectPtr& object) {
    last = object.get();
    if (filter_.may_match(*object)) {
      read.push_back(last);
      bytes += last->bytes.size();
    }
    return ++looked_at < kLookedAtMax && bytes < kReadBytes;
  });
  const auto held = filter_.prepare(read);
  if (!held) return fail(held.error());
  for (std::size_t at = 0; at < read.size() && !more_; ++at) {
    const auto matches = filter_.matches(*read[at]);
    if (!matches) return fail(matches.error());
    if (*matches) take(*read[at], found);
  }
  done_ = more_ || (looked_at < kLookedAtMax && bytes < kReadBytes);
  if (last) cursor_ = last->key;
  return looked_at * kLookedAtBytes + bytes;
}

void Selection::describe_rest(const store::Object& last, ListMeta& meta) const {
  if (!more_) return;
  meta.continue_token = encode_continue({snapshot_.revision(), last.key.substr(prefix_.size())});
  if (filter_.everything()) meta.remaining = static_cast<std::int64_t>(snapshot_.count_after(prefix_, last.key));
}

// A body's phases -----------------------------------------------------------------------------------------------------

ListSource::ListSource(ContextPtr context, ObjectWriter writer, ListMeta meta, Selection selection,
                       std::size_t step_bytes)
    : context_(std::move(context)),
      writer_(writer),
      meta_(std::move(meta)),
      selection_(std::move(selection)),
      step_bytes_(step_bytes),
      now_(context_->core->clock.now()) {}

ListSource::ListSource(ContextPtr context, ObjectWriter writer, ListMeta meta, Selection selection,
                       std::vector<const store::Object*> found)
    : ListSource(std::move(context), writer, std::move(meta), std::move(selection)) {
  objects_ = std::move(found);
}

ListSource::~ListSource() { context_->core->kept_items.give_back(kept_bytes_); }

Result<ListSource::Step> ListSource::next(std::string& out, const std::shared_ptr<net::Waker>& waker) {
  if (rendering_) return render(out, waker);
  const auto all = write(out);
  if (!all) return fail(all.error());
  if (!seat_ && (!*all || out.size() + whole_.size() > net::kStepBytes)) seat_ = KeptSeat::of(*context_);
  if (writer_.is_rendered_whole()) whole_ += std::exchange(out, {});
  if (!*all) return Step::more;
  return writer_.is_rendered_whole() ? render(out, waker) : end();
}

/// One step of the body. True when that was the last.
Result<bool> ListSource::write(std::string& out) {
  Work work;
  if (!head_written_) {
    if (must_find_all())
      if (auto all = find_all(work); !all || !*all) return all;
    if (writer_.is_protobuf()) {
      auto all = measure(work);
      if (!all || !*all) return all;
    }
    write_head(out);
  }
  auto all = write_items(out, work);
  if (all && *all) write_tail(out);
  return all;
}

ListSource::Step ListSource::end() {
  context_->record(200);
  return Step::end;
}

bool ListSource::must_find_all() const { return !selection_.done() && (selection_.limited() || writer_.is_protobuf()); }

/// True when all is found.
Result<bool> ListSource::find_all(Work& work) {
  while (!selection_.done() && work.done < step_bytes_) {
    const auto looked_at = selection_.step(objects_);
    if (!looked_at) return fail(looked_at.error());
    work.done += *looked_at;
  }
  return selection_.done();
}

/// True when all is measured.
Result<bool> ListSource::measure(Work& work) {
  for (; measured_ < objects_.size() && work.done < step_bytes_; ++measured_) {
    auto item = writer_.item_message(*objects_[measured_]);
    if (!item) return fail(item.error());
    items_bytes_ += item->size();
    work.done += item->size() + objects_[measured_]->bytes.size();
    keep(std::move(*item));
  }
  return measured_ == objects_.size();
}

/// Of the items that were just measured this is the next: if none before it was too much.
void ListSource::keep(std::string item) {
  const std::size_t bytes = item.size();
  if (kept_items_ < measured_ || !context_->core->kept_items.take(bytes)) return;
  kept_bytes_ += bytes;
  ++kept_items_;
  if (kept_.empty() || kept_.back().size() + bytes > step_bytes_)
    kept_.push_back(std::move(item));
  else
    kept_.back() += item;
}

void ListSource::write_head(std::string& out) {
  head_written_ = true;
  if (selection_.limited() && !objects_.empty()) selection_.describe_rest(*objects_.back(), meta_);
  out += writer_.list_head(meta_, items_bytes_);
}

/// True when all are written.
Result<bool> ListSource::write_items(std::string& out, Work& work) {
  while (!kept_.empty() && out.size() < step_bytes_) {
    out += kept_.front();
    kept_.pop_front();
    at_ = kept_items_;
  }
  while (out.size() < step_bytes_ && work.done < step_bytes_) {
    if (at_ == objects_.size()) {
      if (selection_.done()) return true;
      objects_.clear();
      at_ = 0;
      const auto looked_at = selection_.step(objects_);
      if (!looked_at) return fail(looked_at.error());
      work.done += *looked_at;
      continue;
    }
    const auto& object = *objects_[at_];
    if (out.capacity() - out.size() < object.bytes.size())
      out.reserve(out.size() + bytes_ahead(step_bytes_ - out.size()));
    if (!writer_.splices_items()) work.done += object.bytes.size();
    if (auto written = write_item(out, object); !written) return fail(written.error());
    ++at_;
  }
  return false;
}

/// What the rest of this step, which has so much room, will write, about: one allocation instead of one for each
/// doubling.
std::size_t ListSource::bytes_ahead(std::size_t room) const {
  constexpr std::size_t kBeside = 24;  // of an item: the revision and a comma
  std::size_t bytes = 2 * kBeside;     // and the tail
  for (auto at = at_; at < objects_.size() && bytes < room; ++at) bytes += objects_[at]->bytes.size() + kBeside;
  return bytes;
}

Outcome ListSource::write_item(std::string& out, const store::Object& object) {
  const auto before = out.size();
  auto written = writer_.append_item(out, object, !wrote_item_, now_);
  wrote_item_ = wrote_item_ || out.size() > before;
  return written;
}

void ListSource::write_tail(std::string& out) { out += writer_.list_tail(); }

// Rendering -----------------------------------------------------------------------------------------------------------

// Shared with the pool: the answer may be given up meanwhile.
struct ListSource::Rendering {
  Rendering(ContextPtr context_, ObjectWriter writer_, std::string text_)
      : context(std::move(context_)), writer(writer_), text(std::move(text_)) {}

  const ContextPtr context;  // holds what the writer refers to
  const ObjectWriter writer;
  std::string text;
  std::atomic<bool> busy{true};

  void run() {
    text = writer.render(std::exchange(text, {}));
    busy.store(false, std::memory_order_release);
  }
};

ListSource::Step ListSource::render(std::string& out, const std::shared_ptr<net::Waker>& waker) {
  if (!rendering_) {
    rendering_ = std::make_shared<Rendering>(context_, writer_, std::exchange(whole_, {}));
    const bool large = rendering_->text.size() > step_bytes_;
    const bool taken = large && context_->core->large_answers.submit([rendering = rendering_, waker] {
      rendering->run();
      waker->wake();
    });
    if (taken) return Step::wait;
    rendering_->run();
  }
  if (rendering_->busy.load(std::memory_order_acquire)) return Step::wait;
  out = std::move(rendering_->text);
  return end();
}

// In one piece --------------------------------------------------------------------------------------------------------

void reply_converted(const ContextPtr& context, const ObjectWriter& writer, ListMeta meta, Selection selection,
                     std::vector<const store::Object*> found) {
  while (!selection.done())
    if (const auto looked_at = selection.step(found); !looked_at) return reply_status(*context, looked_at.error());
  if (selection.limited() && !found.empty()) selection.describe_rest(*found.back(), meta);
  const auto prepared = webhook_conversion_of(writer.route())->prepare(found);
  if (!prepared) return reply_status(*context, prepared.error());
  const WallTime now = context->core->clock.now();
  std::string body = writer.list_head(meta, 0);
  for (std::size_t at = 0; at < found.size(); ++at)
    if (auto written = writer.append_item(body, *found[at], at == 0, now); !written)
      return reply_status(*context, written.error());
  body += writer.list_tail();
  if (writer.is_rendered_whole()) body = writer.render(std::move(body));
  reply_body(*context, 200, writer.content_type(), std::move(body));
}

}  // namespace sublet::apiserver
