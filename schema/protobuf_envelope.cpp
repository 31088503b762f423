// The envelope of kube's protobuf bodies: the magic, then runtime.Unknown{typeMeta{apiVersion, kind}, raw,
// contentEncoding, contentType}.
#include "schema/protobuf_wire.h"
#include "sublet/schema/engine.h"

namespace sublet::schema {

namespace {

bool read_type_meta(std::string_view bytes, ProtobufEnvelope& envelope) {
  WireReader reader(bytes);
  while (!reader.done()) {
    WireTag tag;
    if (!reader.tag(tag)) return false;
    std::string_view text;
    const bool wanted = tag.type == WireType::bytes && tag.number <= 2;
    if (!(wanted ? reader.bytes(text) : reader.skip(tag.type))) return false;
    if (wanted) (tag.number == 1 ? envelope.api_version : envelope.kind) = text;
  }
  return true;
}

}  // namespace

std::optional<ProtobufEnvelope> open_protobuf(std::string_view bytes) {
  if (!bytes.starts_with(kProtobufMagic)) return std::nullopt;
  WireReader reader(bytes.substr(kProtobufMagic.size()));
  ProtobufEnvelope envelope;
  while (!reader.done()) {
    WireTag tag;
    if (!reader.tag(tag)) return std::nullopt;
    std::string_view text;
    const bool wanted = tag.type == WireType::bytes && tag.number <= 2;
    if (!(wanted ? reader.bytes(text) : reader.skip(tag.type))) return std::nullopt;
    if (!wanted) continue;
    if (tag.number == 2)
      envelope.raw = text;
    else if (!read_type_meta(text, envelope))
      return std::nullopt;
  }
  return envelope;
}

std::string seal_protobuf(std::string_view api_version, std::string_view kind, std::string_view message) {
  WireWriter out(message.size() + api_version.size() + kind.size() + 40);
  out.put_string(4, "");
  out.put_string(3, "");
  out.put_string(2, message);
  const std::size_t before = out.size();
  out.put_string(2, kind);
  out.put_string(1, api_version);
  out.close_message(1, before);
  out.put_bytes(kProtobufMagic);
  return out.take();
}

std::string_view protobuf_seal_tail() {
  using namespace std::string_view_literals;
  return "\x1a\x00\x22\x00"sv;  // the two empty strings
}

std::string protobuf_seal_head(std::string_view api_version, std::string_view kind, std::size_t message_size) {
  std::string head = seal_protobuf(api_version, kind, {});
  head.resize(head.size() - protobuf_seal_tail().size() - 1);  // and the empty message's length
  for (; message_size >= 0x80; message_size >>= 7) head += static_cast<char>(message_size | 0x80);
  return head += static_cast<char>(message_size);
}

}  // namespace sublet::schema
