#include "hippo/train/torch/tensor_file.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string_view>

namespace hippo {

namespace {

static_assert(std::endian::native == std::endian::little);

// magic, number of tensors; then for each: length of its name, name, type,
// number of dimensions, sizes, values. All integers are of 64 bits.
constexpr std::string_view magic = "hippo-1\n";

/// The types that a state may hold; the index is what the file says.
constexpr std::array types{at::kFloat, at::kDouble, at::kLong, at::kByte};

std::uint64_t number_of(at::ScalarType type) {
  for (std::size_t i = 0; i < types.size(); ++i)
    if (types[i] == type)
      return i;
  throw std::invalid_argument("a state cannot hold tensors of this type");
}

void put(std::string& out, std::uint64_t x) {
  out.append(reinterpret_cast<const char*>(&x), sizeof x);
}

/// Takes parts of a file off its front.
class reader {
public:
  explicit reader(std::string_view bytes) : rest_(bytes) {}

  std::string_view take(std::uint64_t size) {
    if (size > rest_.size())
      throw std::runtime_error("a state that ends too early");
    const auto result = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return result;
  }

  std::uint64_t number() {
    std::uint64_t x = 0;
    std::memcpy(&x, take(sizeof x).data(), sizeof x);
    return x;
  }

  /// Returns a number that counts things which take a byte at least.
  std::uint64_t count() {
    const auto x = number();
    if (x > rest_.size())
      throw std::runtime_error("a state with an impossible size");
    return x;
  }

  [[nodiscard]] bool done() const { return rest_.empty(); }

private:
  std::string_view rest_;
};

at::Tensor read_tensor(reader& in) {
  const auto type = in.number();
  if (type >= types.size())
    throw std::runtime_error("a state with an unknown type of tensor");
  std::vector<std::int64_t> shape(in.count());
  std::uint64_t bytes = c10::elementSize(types[type]);
  for (auto& size : shape) {
    const auto x = in.count();
    // Both factors are at most the file's size, far below 2^32 in practice.
    if (x > UINT32_MAX || bytes > UINT32_MAX)
      throw std::runtime_error("a state with an impossible size");
    bytes *= x;
    size = static_cast<std::int64_t>(x);
  }
  const auto values = in.take(bytes);
  auto result = at::empty(shape, types[type]);
  std::memcpy(result.mutable_data_ptr(), values.data(), values.size());
  return result;
}

/// Returns how many bytes a file takes.
std::size_t size_of(const tensor_map& tensors) {
  auto size = magic.size() + sizeof(std::uint64_t);
  for (const auto& [name, x] : tensors)
    size += name.size() + x.nbytes()
            + sizeof(std::uint64_t) * (3 + static_cast<std::size_t>(x.dim()));
  return size;
}

std::vector<at::Tensor> values_of(const tensor_map& xs) {
  std::vector<at::Tensor> result;
  for (const auto& [name, x] : xs)
    result.push_back(x);
  return result;
}

} // namespace

std::string to_bytes(const tensor_map& tensors) {
  std::string out{magic};
  out.reserve(size_of(tensors));
  put(out, tensors.size());
  for (const auto& [name, x] : tensors) {
    const auto here = x.detach().to(at::kCPU).contiguous();
    put(out, name.size());
    out += name;
    put(out, number_of(here.scalar_type()));
    put(out, static_cast<std::uint64_t>(here.dim()));
    for (auto size : here.sizes())
      put(out, static_cast<std::uint64_t>(size));
    out.append(static_cast<const char*>(here.const_data_ptr()), here.nbytes());
  }
  return out;
}

tensor_map tensors_from_bytes(const std::string& bytes) {
  reader in{bytes};
  if (in.take(magic.size()) != magic)
    throw std::runtime_error("not a state of a LibTorch workload");
  tensor_map result;
  for (auto n = in.count(); n > 0; --n) {
    std::string name{in.take(in.count())};
    result[std::move(name)] = read_tensor(in);
  }
  if (!in.done())
    throw std::runtime_error("a state with something behind its end");
  return result;
}

void copy_into(const tensor_map& to, const tensor_map& from) {
  const auto same = [](const auto& x, const auto& y) {
    return x.first == y.first && x.second.sizes() == y.second.sizes()
           && x.second.scalar_type() == y.second.scalar_type();
  };
  if (!std::equal(to.begin(), to.end(), from.begin(), from.end(), same))
    throw std::runtime_error("a state of another model");
  const at::NoGradGuard no_grad;
  if (!to.empty())
    at::_foreach_copy_(values_of(to), values_of(from)); // in few launches
}

} // namespace hippo
