#include "hippo/train/process/exchange_folder.hpp"

#include <fstream>
#include <stdexcept>
#include <utility>

namespace hippo {

scratch_folder make_exchange_folder(const std::string& name) {
  auto made = scratch_folder::make(name);
  if (!made)
    throw std::runtime_error(made.failure().message);
  return std::move(*made);
}

file_source open_exchanged(const std::string& path, std::uint64_t bytes_max) {
  auto file = file_source::open(path);
  if (!file)
    throw std::runtime_error(file.failure().message);
  if (file->size() > bytes_max)
    throw std::runtime_error(
      "cannot read " + path + ": it has " + std::to_string(file->size())
      + " bytes, more than " + std::to_string(bytes_max));
  return std::move(*file);
}

std::string read_whole(const file_source& file) {
  std::string result(file.size(), '\0');
  if (const auto why = file.read(0, result.data(), result.size()))
    throw std::runtime_error(why->message);
  return result;
}

std::string read_exchanged(const std::string& path, std::uint64_t bytes_max) {
  return read_whole(open_exchanged(path, bytes_max));
}

void write_exchanged(const std::string& path, std::string_view bytes) {
  std::ofstream out{path, std::ios::binary | std::ios::trunc};
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (!out)
    throw std::runtime_error("cannot write " + path);
}

} // namespace hippo
