// row_codec: how one version of an object is written into Row::value.
//
// Layout, little-endian: format version (1 byte), encoding (1), transform (1), flags (1), checksum (4), revision of the
// row before it in the log (8; a lost row is found by it), then, when the flag kHasState is set: hole (4), the index
// (uid, labels, fields, owners; lengths as varints), and the object's bytes up to the end. The checksum is crc32c over
// revision, create_revision, key and everything in the value but itself, so that a row whose columns were mixed up is
// found as surely as a flipped bit. Pure functions, any thread. decode_row names the damage; the Log adds the file's
// name and what to do.
#pragma once

#include "sublet/base/status.h"
#include "sublet/store/log.h"

namespace sublet::store {

inline constexpr std::uint8_t kRowFormat = 1;
inline constexpr std::uint8_t kRowEncodingJson = 1;   // JSON without TypeMeta, with a hole for resourceVersion
inline constexpr std::uint8_t kRowTransformNone = 0;  // encryption at rest will be another number

/// The row of `object`. `with_state` false: a delete whose last state is the version before it, unchanged.
Row encode_row(const Object& object, bool deleted, bool with_state, Revision previous_row);

struct DecodedRow {
  ObjectPtr object;  // null: a delete without a state of its own
  bool deleted = false;
  Revision previous_row = 0;
};
/// Consumes the row. internal_error when it is damaged or written by a newer version.
Result<DecodedRow> decode_row(Row&& row);

}  // namespace sublet::store
