#include "apiserver/codec/gzip.h"

#include <zlib.h>

namespace sublet::apiserver {
namespace {

constexpr int kGzipWindow = 15 + 16;  // largest window, gzip header

Bytef* input(std::string_view bytes) { return reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data())); }

}  // namespace

std::string gzip(std::string_view bytes) {
  z_stream stream{};
  if (deflateInit2(&stream, 1, Z_DEFLATED, kGzipWindow, 8, Z_DEFAULT_STRATEGY) != Z_OK) return {};
  std::string out(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = input(bytes);
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const bool complete = deflate(&stream, Z_FINISH) == Z_STREAM_END;
  out.resize(complete ? stream.total_out : 0);
  deflateEnd(&stream);
  out.shrink_to_fit();
  return out;
}

std::string gunzip(std::string_view bytes) {
  z_stream stream{};
  if (inflateInit2(&stream, kGzipWindow) != Z_OK) return {};
  stream.next_in = input(bytes);
  stream.avail_in = static_cast<uInt>(bytes.size());
  std::string out;
  int state = Z_OK;
  while (state == Z_OK) {
    const std::size_t filled = out.size();
    out.resize(filled + std::max<std::size_t>(64 * 1024, filled));
    stream.next_out = reinterpret_cast<Bytef*>(out.data()) + filled;
    stream.avail_out = static_cast<uInt>(out.size() - filled);
    state = inflate(&stream, Z_NO_FLUSH);
    out.resize(out.size() - stream.avail_out);
  }
  inflateEnd(&stream);
  return state == Z_STREAM_END ? out : std::string();
}

bool accepts_gzip(std::string_view accept_encoding) { return accept_encoding.find("gzip") != std::string_view::npos; }

}  // namespace sublet::apiserver
