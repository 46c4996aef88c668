#include "hippo/checkpoint/parts/part_table.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <capnp/message.h>
#include <capnp/serialize.h>
#include <kj/exception.h>

#include "hippo/checkpoint/parts/part_cutter.hpp"
#include "parts.capnp.h"

namespace hippo {

namespace {

error damaged(const checkpoint& x) {
  return {errc::bad_checkpoint,
          "checkpoint " + x.file + " is damaged: its table of parts is none"};
}

/// @returns nothing if it is no table of that checkpoint
std::optional<part_table> read_table(const checkpoint& x,
                                     schema::PartTable::Reader in) {
  part_table result;
  result.bytes = in.getBytes();
  result.digest = in.getDigest();
  result.files = x.part_files;
  const auto files = in.getFiles();
  if (files.size() != x.part_files.size())
    return std::nullopt;
  for (unsigned i = 0; i < files.size(); ++i)
    if (x.part_files[i].file != files[i].cStr())
      return std::nullopt;
  const auto own_bytes = x.bytes - x.table_bytes;
  std::uint64_t bytes = 0;
  const auto parts = in.getParts();
  result.parts.reserve(parts.size());
  for (const auto part : parts) {
    const state_part next{{part.getHigh(), part.getLow()},
                          part.getOffset(),
                          part.getBytes(),
                          part.getFile()};
    if (next.bytes == 0 || next.bytes > part_bytes_max
        || next.file > files.size())
      return std::nullopt;
    const auto size =
      next.file == 0 ? own_bytes : x.part_files[next.file - 1u].bytes;
    if (next.offset > size || next.bytes > size - next.offset)
      return std::nullopt;
    bytes += next.bytes;
    result.parts.push_back(next);
  }
  return bytes == result.bytes ? std::optional{std::move(result)}
                               : std::nullopt;
}

} // namespace

std::string to_bytes(const part_table& table) {
  capnp::MallocMessageBuilder message;
  auto out = message.initRoot<schema::PartTable>();
  out.setBytes(table.bytes);
  out.setDigest(table.digest);
  auto files = out.initFiles(static_cast<unsigned>(table.files.size()));
  for (unsigned i = 0; i < files.size(); ++i)
    files.set(i, table.files[i].file);
  auto parts = out.initParts(static_cast<unsigned>(table.parts.size()));
  for (unsigned i = 0; i < parts.size(); ++i) {
    const auto& x = table.parts[i];
    parts[i].setFile(x.file);
    parts[i].setBytes(x.bytes);
    parts[i].setOffset(x.offset);
    parts[i].setHigh(x.hash.high);
    parts[i].setLow(x.hash.low);
  }
  const auto words = capnp::messageToFlatArray(message);
  const auto bytes = words.asChars();
  return {bytes.begin(), bytes.size()};
}

expected<part_table> part_table_of(const checkpoint& checkpoint,
                                   const std::string& bytes) {
  auto words = kj::heapArray<capnp::word>(bytes.size() / sizeof(capnp::word));
  std::copy_n(bytes.begin(), words.asChars().size(), words.asChars().begin());
  std::optional<part_table> result;
  const auto why = kj::runCatchingExceptions([&] {
    capnp::ReaderOptions limits;
    limits.traversalLimitInWords = words.size() + 1;
    capnp::FlatArrayMessageReader message{words, limits};
    result = read_table(checkpoint, message.getRoot<schema::PartTable>());
  });
  if (why != nullptr || !result)
    return damaged(checkpoint);
  return std::move(*result);
}

} // namespace hippo
