#include "gateway/http_body.hpp"

#include <stdexcept>
#include <utility>

#include <zlib.h>

#include "hippo/base/hash.hpp"

namespace hippo {

namespace {

/// Makes zlib write the header of gzip; 15 is the size of its window.
constexpr int gzip_window = 15 + 16;

/// The least work: what is sent is small, and somebody waits.
constexpr int level = 1;

constexpr int memory_level = 8; // zlib's own

/// Bodies below this are not worth compressing.
constexpr std::size_t zipped_bytes_min = 1024;

} // namespace

std::string gzip(std::string_view bytes) {
  z_stream stream{};
  if (deflateInit2(&stream, level, Z_DEFLATED, gzip_window, memory_level,
                   Z_DEFAULT_STRATEGY)
      != Z_OK)
    throw std::runtime_error("cannot compress: out of memory");
  std::string result(deflateBound(&stream, bytes.size()), '\0');
  // zlib leaves its input alone, and says so in C.
  stream.next_in
    = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(result.data());
  stream.avail_out = static_cast<uInt>(result.size());
  deflate(&stream, Z_FINISH);
  result.resize(stream.total_out);
  deflateEnd(&stream);
  return result;
}

bool takes_gzip(std::string_view accept_encoding) {
  const auto at = accept_encoding.find("gzip");
  if (at == std::string_view::npos)
    return false;
  const auto rest = accept_encoding.substr(at + 4);
  return !rest.starts_with(";q=0") || rest.starts_with(";q=0.");
}

std::string entity_tag(const std::string& bytes) {
  return '"' + hash_text(bytes) + '"';
}

packed_body pack_body(std::string bytes) {
  packed_body result{std::move(bytes), {}, {}};
  if (result.plain.size() >= zipped_bytes_min)
    result.zipped = gzip(result.plain);
  result.tag = entity_tag(result.plain);
  return result;
}

} // namespace hippo
