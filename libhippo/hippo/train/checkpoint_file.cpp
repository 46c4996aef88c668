#include "hippo/train/checkpoint_file.hpp"

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <system_error>

#include "hippo/core/hash.hpp"

namespace hippo {

namespace {

struct closer {
  void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};
using file_ptr = std::unique_ptr<std::FILE, closer>;

std::string reason(int code) {
  return std::generic_category().message(code);
}

/// Writes all of `bytes`; returns 0 or the `errno` of what failed.
int write_all(const std::string& path, const std::string& bytes) {
  file_ptr file{std::fopen(path.c_str(), "wb")};
  if (!file)
    return errno;
  if (std::fwrite(bytes.data(), 1, bytes.size(), file.get()) != bytes.size())
    return errno;
  // Closing flushes, so it can fail as well: "disk full" shows only here.
  return std::fclose(file.release()) == 0 ? 0 : errno;
}

} // namespace

expected<checkpoint> write_checkpoint(const std::string& folder,
                                      const std::string& name,
                                      const std::string& bytes) {
  const auto path = std::filesystem::path{folder} / name;
  const auto part = path.string() + ".part";
  auto code = write_all(part, bytes);
  if (code == 0 && std::rename(part.c_str(), path.c_str()) != 0)
    code = errno;
  if (code != 0) {
    std::remove(part.c_str());
    return {errc::io_failed,
            "cannot write checkpoint " + path.string() + ": " + reason(code)};
  }
  return checkpoint{name, bytes.size(), hash_bytes(bytes.data(), bytes.size())};
}

expected<std::string> read_checkpoint(const std::string& folder,
                                      const checkpoint& x) {
  const auto path = (std::filesystem::path{folder} / x.file).string();
  const auto bad = [&](const std::string& why) {
    return error{errc::bad_checkpoint, "checkpoint " + path + " " + why};
  };
  // Names come from messages: they must not lead out of the folder.
  if (x.file.empty() || x.file.find('/') != std::string::npos)
    return error{errc::bad_checkpoint,
                 "'" + x.file + "' is not the name of a checkpoint"};
  file_ptr file{std::fopen(path.c_str(), "rb")};
  if (!file && errno == ENOENT)
    return bad("is missing");
  if (!file)
    return {errc::io_failed,
            "cannot read checkpoint " + path + ": " + reason(errno)};
  std::error_code failed;
  const auto size = std::filesystem::file_size(path, failed);
  if (failed || size != x.bytes)
    return bad("is not of the " + std::to_string(x.bytes)
               + " bytes that were written");
  std::string bytes(size, '\0');
  if (std::fread(bytes.data(), 1, size, file.get()) != size)
    return std::ferror(file.get())
             ? expected<std::string>{errc::io_failed, "cannot read checkpoint "
                                                        + path + ": "
                                                        + reason(errno)}
             : bad("became shorter while it was read");
  if (hash_bytes(bytes.data(), bytes.size()) != x.digest)
    return bad("is damaged: its digest is not the one that was written");
  return bytes;
}

} // namespace hippo
