// DocumentCache: derived documents (discovery, OpenAPI), compressed, with their ETags, in a small budget; a part of the
// snapshot of kinds that they are made from.
//
// Documents are built on request, and the least recently used is dropped when the budget is full, so an idle virtual
// cluster holds little. Building takes milliseconds, so it does not run on a loop. Any thread; two threads may build
// the same document at once.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>

#include "sublet/base/mutex.h"
#include "sublet/schema/registry.h"

namespace sublet::apiserver {

struct CachedDocument {
  std::string key, etag;  // etag with its quotes
  std::string body;       // compressed when `gzipped`
  bool gzipped = false;
};

class DocumentCache {
 public:
  explicit DocumentCache(std::size_t budget_bytes) : budget_(budget_bytes) {}
  /// The part of a snapshot whose documents it holds.
  explicit DocumentCache(const schema::Registry&) : DocumentCache(4u << 20) {}
  /// Null: not there (any more).
  std::shared_ptr<const CachedDocument> find(const std::string& key);
  std::shared_ptr<const CachedDocument> get(const std::string& key, const std::function<std::string()>& make);
  std::size_t bytes() const;

 private:
  const std::size_t budget_;
  mutable Mutex mutex_;
  std::list<std::shared_ptr<const CachedDocument>> entries_ SUBLET_GUARDED_BY(mutex_);  // most recently used first
  std::size_t bytes_ SUBLET_GUARDED_BY(mutex_) = 0;
};

/// A strong ETag of a body.
std::string etag_of(std::string_view body);

}  // namespace sublet::apiserver
