#include "apiserver/endpoints/document_cache.h"

#include "apiserver/codec/gzip.h"
#include "sublet/net/digest.h"

namespace sublet::apiserver {
std::string etag_of(std::string_view body) { return '"' + net::sha256_hex(body, 32) + '"'; }

std::shared_ptr<const CachedDocument> DocumentCache::find(const std::string& key) {
  const MutexLock lock(mutex_);
  for (auto entry = entries_.begin(); entry != entries_.end(); ++entry)
    if ((*entry)->key == key) {
      entries_.splice(entries_.begin(), entries_, entry);
      return entries_.front();
    }
  return nullptr;
}

std::shared_ptr<const CachedDocument> DocumentCache::get(const std::string& key,
                                                         const std::function<std::string()>& make) {
  if (auto known = find(key)) return known;
  auto document = std::make_shared<CachedDocument>();
  document->key = key;
  document->body = make();
  document->etag = etag_of(document->body);
  document->gzipped = document->body.size() >= kGzipBytesMin;
  if (document->gzipped) document->body = gzip(document->body);
  const MutexLock lock(mutex_);
  entries_.push_front(document);
  bytes_ += document->body.size();
  while (bytes_ > budget_ && entries_.size() > 1) {
    bytes_ -= entries_.back()->body.size();
    entries_.pop_back();
  }
  return document;
}

std::size_t DocumentCache::bytes() const {
  const MutexLock lock(mutex_);
  return bytes_;
}

}  // namespace sublet::apiserver
