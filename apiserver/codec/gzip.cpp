#include "apiserver/codec/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <new>

namespace sublet::apiserver {
namespace {

constexpr int kGzipWindow = 15 + 16;  // largest window, gzip header

Bytef* input(std::string_view bytes) { return reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data())); }

}  // namespace

struct GzipStream::State {
  z_stream zlib{};
};

GzipStream::GzipStream() : state_(std::make_unique<State>()) {
  if (deflateInit2(&state_->zlib, 1, Z_DEFLATED, kGzipWindow, 8, Z_DEFAULT_STRATEGY) != Z_OK) throw std::bad_alloc();
}

GzipStream::~GzipStream() { deflateEnd(&state_->zlib); }

void GzipStream::put(std::string_view piece, bool last, std::string& out) {
  constexpr std::size_t kRoom = 16 * 1024;
  auto& zlib = state_->zlib;
  zlib.next_in = input(piece);
  zlib.avail_in = static_cast<uInt>(piece.size());
  do {
    const std::size_t filled = out.size();
    out.resize(filled + std::max<std::size_t>(kRoom, piece.size() / 4));
    zlib.next_out = reinterpret_cast<Bytef*>(out.data()) + filled;
    zlib.avail_out = static_cast<uInt>(out.size() - filled);
    deflate(&zlib, last ? Z_FINISH : Z_NO_FLUSH);
    out.resize(out.size() - zlib.avail_out);
  } while (zlib.avail_out == 0);
}

std::string gzip(std::string_view bytes) {
  std::string out;
  GzipStream().put(bytes, true, out);
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
