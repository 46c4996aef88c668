// A file where a checkpoint should be, whatever is in it: the first byte says
// what is known of it, the second how long its name is, then its name and its
// bytes come.

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "fuzz/target.hpp"
#include "hippo/checkpoint/checkpoint_file.hpp"

namespace hippo::fuzz {

namespace {

namespace fs = std::filesystem;

/// A folder for the time of the process, in memory where there is room.
const std::string& folder() {
  struct place {
    place() {
      const auto shared = fs::path{"/dev/shm"};
      auto name = ((fs::exists(shared) ? shared : fs::temp_directory_path())
                   / "hippo-fuzz-XXXXXX")
                    .string();
      require(::mkdtemp(name.data()) != nullptr, "there is no room to work in");
      path = name + "/checkpoints";
      fs::create_directory(path);
    }
    ~place() { fs::remove_all(fs::path{path}.parent_path()); }

    std::string path;
  };
  static const place here;
  return here.path;
}

void handle(std::string_view input) {
  if (input.size() < 2)
    return;
  const auto known = static_cast<unsigned char>(input[0]);
  const auto length = static_cast<unsigned char>(input[1]);
  const std::string name{input.substr(2, length)};
  const std::string bytes{
    input.substr(std::min<std::size_t>(input.size(), 2u + length))};
  const auto written = write_checkpoint(folder(), name, bytes,
                                        durability::cached);
  require(static_cast<bool>(written) == is_checkpoint_name(name),
          "a name is taken that is none, or the other way round");
  for (const auto& x : fs::recursive_directory_iterator{
         fs::path{folder()}.parent_path()})
    require(x.path() == folder()
              || (x.path().parent_path() == folder()
                  && x.path().filename() == name),
            "a file is where none should be: " + x.path().string());
  if (!written)
    return;
  auto asked = *written;
  if (known & 1)
    asked.digest ^= 1;
  if (known & 2)
    asked.bytes += known;
  if (known & 4) // damaged since
    std::ofstream{folder() + '/' + name, std::ios::binary} << input;
  const auto read = read_checkpoint(folder(), asked);
  if (read)
    require((known & 3) == 0 && ((known & 4) == 0 || input == bytes)
              && *read == bytes,
            "what is damaged is read");
  else
    require((known & 7) != 0, "what is whole is refused: "
                                + read.failure().message);
  fs::remove(fs::path{folder()} / name);
}

} // namespace

const target checkpoint{
  "checkpoint",
  handle,
  {"..", "/", ".part", std::string(1, '\0'), std::string(240, 'n')}};

} // namespace hippo::fuzz
