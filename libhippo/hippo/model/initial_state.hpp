#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace hippo {

/// A file of an initial state, by its content.
struct initial_file {
  std::string sha256; ///< 64 hexadecimal digits
  std::uint64_t bytes = 0;
  friend bool operator==(const initial_file&, const initial_file&) = default;
};

/// The initial state of a study's training that the study takes from a file or
/// a folder (`from` of its workload), such as the weights of a pre-trained
/// model. Only names and digests travel with the study; the files lie in the
/// checkpoint folder of the service, each once, by digest.
struct initial_state {
  /// By path, relative to the folder. A file alone has the name `state` with
  /// the ending of its own.
  std::map<std::string, initial_file> files;
  bool is_folder = false;
  /// Its path on the machine that it was sent from. No part of its digest.
  std::string path{};
  friend bool operator==(const initial_state&, const initial_state&) = default;
};

/// The folder beside those of the workloads that holds the files of initial
/// states; each has its digest as its name.
inline constexpr const char* initial_folder_name = "initial";

/// The option of a workload that holds the digest of its initial state.
inline constexpr const char* initial_option = "from";

// The limits of an initial state.
inline constexpr std::size_t initial_files_max = 1000;
inline constexpr std::uint64_t initial_bytes_max = 64ull << 30; ///< in all

/// Returns the path of a file of a state on the machine that sent it.
std::string source_path(const initial_state& state, const std::string& file);

/// Returns the folder of initial states for a workload's checkpoint folder.
std::string initial_folder_of(const std::string& checkpoint_folder);

} // namespace hippo
