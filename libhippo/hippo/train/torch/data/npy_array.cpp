#include "hippo/train/torch/data/npy_array.hpp"

#include <bit>
#include <cstdint>
#include <cstring>
#include <regex>
#include <stdexcept>
#include <vector>

#include "hippo/base/csv.hpp"

namespace hippo {

namespace {

static_assert(std::endian::native == std::endian::little);

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw std::invalid_argument(path + ": " + why);
}

at::ScalarType type_of(const std::string& name, const std::string& path) {
  if (name == "<f4")
    return at::kFloat;
  if (name == "<f8")
    return at::kDouble;
  if (name == "<i4")
    return at::kInt;
  if (name == "<i8")
    return at::kLong;
  refuse(path, "numbers of type '" + name
                 + "', not of float32, float64, int32 or int64");
}

/// Returns the sizes in a text such as `3, 2` or `3,`.
std::vector<std::int64_t> sizes_in(const std::string& text,
                                   const std::string& path) {
  std::vector<std::int64_t> result;
  static const std::regex number{"[0-9]+"};
  for (std::sregex_iterator i{text.begin(), text.end(), number}, end; i != end;
       ++i) {
    const auto size = number_from<std::int64_t>(i->str());
    if (!size)
      refuse(path, "the shape (" + text + ") is too large");
    result.push_back(*size);
  }
  return result;
}

} // namespace

at::Tensor npy_array(std::string_view bytes, const std::string& path) {
  constexpr std::string_view magic{"\x93NUMPY"};
  constexpr std::size_t before_header = 10;
  if (!bytes.starts_with(magic) || bytes.size() < before_header + 2)
    refuse(path, "no file of NumPy's format .npy");
  // The length has two bytes in version 1 and four in later ones.
  const std::size_t length_bytes = bytes[magic.size()] == 1 ? 2 : 4;
  std::uint32_t length = 0;
  std::memcpy(&length, bytes.data() + magic.size() + 2, length_bytes);
  const auto begin = magic.size() + 2 + length_bytes;
  if (length > bytes.size() - begin)
    refuse(path, "the header ends behind the end of the file");
  const std::string header{bytes.substr(begin, length)};
  std::smatch descr, order, shape;
  static const std::regex descr_form{"'descr': *'([^']*)'"},
    order_form{"'fortran_order': *(True|False)"},
    shape_form{"'shape': *\\(([0-9, ]*)\\)"};
  if (!std::regex_search(header, descr, descr_form)
      || !std::regex_search(header, order, order_form)
      || !std::regex_search(header, shape, shape_form))
    refuse(path, "a header without a plain type, order and shape");
  const auto sizes = sizes_in(shape[1], path);
  if (order[1] == "True" && sizes.size() > 1)
    refuse(path, "the array lies column by column (fortran_order), not row by "
                 "row");
  const auto type = type_of(descr[1], path);
  const auto there = (bytes.size() - begin - length) / at::elementSize(type);
  std::size_t wanted = 1;
  for (const auto size : sizes)
    if (__builtin_mul_overflow(wanted, static_cast<std::size_t>(size), &wanted))
      wanted = there + 1;
  if (wanted != there)
    refuse(path, "has " + std::to_string(there) + " numbers, and its shape is ("
                   + shape[1].str() + ")");
  // Copied, as numbers may lie at any address in a file.
  auto result = at::empty(sizes, type);
  std::memcpy(result.mutable_data_ptr(), bytes.data() + begin + length,
              result.nbytes());
  return result;
}

} // namespace hippo
