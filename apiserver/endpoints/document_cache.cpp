#include "apiserver/endpoints/document_cache.h"

#include <cstdint>
#include <cstdio>

#include "apiserver/codec/gzip.h"

namespace sublet::apiserver {
namespace {

std::uint64_t fnv1a(std::string_view text, std::uint64_t hash) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  return hash;
}

}  // namespace

std::string etag_of(std::string_view body) {
  char buffer[40];
  const int size = std::snprintf(buffer, sizeof buffer, "\"%016llX%016llX\"",
                                 static_cast<unsigned long long>(fnv1a(body, 0xcbf29ce484222325ull)),
                                 static_cast<unsigned long long>(fnv1a(body, 0x9e3779b97f4a7c15ull)));
  return {buffer, static_cast<std::size_t>(size)};
}

std::shared_ptr<const CachedDocument> DocumentCache::get(const std::string& key,
                                                         const std::function<std::string()>& make) {
  {
    const MutexLock lock(mutex_);
    for (auto entry = entries_.begin(); entry != entries_.end(); ++entry)
      if ((*entry)->key == key) {
        entries_.splice(entries_.begin(), entries_, entry);
        return entries_.front();
      }
  }
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
