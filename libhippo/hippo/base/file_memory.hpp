#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <string>
#include <vector>

namespace hippo {

/// Memory for what is seldom looked at. It lies in files without a name, which
/// go with it: the operating system keeps in memory what is used, and brings
/// back the rest when it is touched. It holds no descriptor: there may be
/// thousands.
///
/// Where the disk has no room for more, more is taken from memory.
///
/// Not to be used by two threads at a time. A disk that cannot be read any more
/// ends the process (SIGBUS).
class file_memory final : public std::pmr::memory_resource {
public:
  /// @param folder of a file system that is not memory itself
  /// @throws std::system_error where no file can be made there
  explicit file_memory(const std::string& folder);
  file_memory(const file_memory&) = delete;
  file_memory& operator=(const file_memory&) = delete;
  ~file_memory() override = default;

  /// Takes what is in files out of the process's memory, until it is
  /// touched.
  /// @complexity O(pages that were touched since)
  void let_go() noexcept;

  /// So much of files is in use, or was: it does not become smaller.
  [[nodiscard]] std::uint64_t file_bytes() const noexcept {
    return extents_.file_bytes();
  }
  /// So much was taken from memory, since there was no room in files.
  [[nodiscard]] std::uint64_t memory_bytes() const noexcept {
    return extents_.memory_bytes();
  }

private:
  /// Large pieces, each mapped from a file of its own.
  class extents final : public std::pmr::memory_resource {
  public:
    explicit extents(const std::string& folder);
    extents(const extents&) = delete;
    extents& operator=(const extents&) = delete;
    ~extents() override;

    void let_go() noexcept;
    [[nodiscard]] std::uint64_t file_bytes() const noexcept {
      return file_bytes_;
    }
    [[nodiscard]] std::uint64_t memory_bytes() const noexcept {
      return memory_bytes_;
    }

  private:
    struct extent {
      std::byte* at = nullptr;
      std::size_t size = 0;
      bool in_file = false;
    };

    void* do_allocate(std::size_t bytes, std::size_t alignment) override;
    void do_deallocate(void* data, std::size_t bytes, std::size_t) override;
    [[nodiscard]] bool
    do_is_equal(const memory_resource& other) const noexcept override {
      return this == &other;
    }
    /// Maps a piece of at least so many bytes.
    void add_extent(std::size_t bytes);

    std::string folder_;
    std::vector<extent> extents_; ///< the last one has room
    std::size_t used_ = 0;        ///< of the last one
    std::uint64_t file_bytes_ = 0;
    std::uint64_t memory_bytes_ = 0;
  };

  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    return pool_.allocate(bytes, alignment);
  }
  void do_deallocate(void* data, std::size_t bytes,
                     std::size_t alignment) override {
    pool_.deallocate(data, bytes, alignment);
  }
  [[nodiscard]] bool
  do_is_equal(const memory_resource& other) const noexcept override {
    return this == &other;
  }

  extents extents_;
  std::pmr::unsynchronized_pool_resource pool_;
};

} // namespace hippo
