// What a checkpoint costs over the network: a depot over loopback against the
// checkpoint folder itself and against copying the file, in turns.
//
//   transfer [MIB] [ROUNDS]      default: 256 5; prints medians in MB/s as JSON
//
// Both ends are in this process, on threads of their own. A checkpoint is
// written when it is on the disk; it is read, and the file copied, from and to
// the page cache.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "checkpoint_places.hpp"
#include "depot/random_bytes.hpp"
#include "hippo/base/hash.hpp"

namespace {

using namespace hippo;
namespace fs = std::filesystem;
using clock_type = std::chrono::steady_clock;

/// In MB/s, one a round.
struct rates {
  std::vector<double> writes;
  std::vector<double> reads;
};

double median(std::vector<double> x) {
  std::sort(x.begin(), x.end());
  return x[x.size() / 2];
}

double rate_of(std::size_t bytes, const std::function<bool()>& f) {
  const auto begin = clock_type::now();
  if (!f()) {
    std::fprintf(stderr, "a transfer failed\n");
    std::exit(1);
  }
  const std::chrono::duration<double> spent = clock_type::now() - begin;
  return static_cast<double>(bytes) / 1e6 / spent.count();
}

void measure(checkpoint_store& store, const std::string& bytes, rates& out) {
  const std::string file = "n1-s1-l1.ckpt";
  const checkpoint x{file, bytes.size(),
                     hash_bytes(bytes.data(), bytes.size())};
  const memory_source content{bytes};
  out.writes.push_back(
    rate_of(bytes.size(), [&] { return bool{store.write(file, content)}; }));
  out.reads.push_back(
    rate_of(bytes.size(), [&] { return bool{read_whole(store, x)}; }));
}

} // namespace

int main(int argc, char** argv) {
  const auto mib = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 256;
  const auto rounds = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 5;
  if (mib == 0 || rounds == 0) {
    std::fprintf(stderr, "usage: transfer [MIB] [ROUNDS]\n");
    return 2;
  }
  checkpoint_places places;
  const auto bytes = random_bytes(mib << 20);
  rates near;
  rates far;
  std::vector<double> copies;
  for (std::uint64_t i = 0; i < rounds; ++i) {
    measure(places.near, bytes, near);
    measure(places.far, bytes, far);
    copies.push_back(rate_of(bytes.size(), [&] {
      return fs::copy_file(places.root + "/near/a", places.root + "/near/b",
                           fs::copy_options::overwrite_existing);
    }));
  }
  std::printf("{\"copy\": %.1f, \"write_folder\": %.1f, "
              "\"write_depot\": %.1f, \"read_folder\": %.1f, "
              "\"read_depot\": %.1f}\n",
              median(copies), median(near.writes), median(far.writes),
              median(near.reads), median(far.reads));
}
