// Reads, writes, lists and deletes objects, for servers_test.py:
//
//   object-tool S3-URL ENDPOINT PART_BYTES SILENCE_SECONDS COMMAND [NAME]
//
// put takes the bytes from standard input, get writes them to standard output.
#include <cstdio>
#include <iostream>
#include <iterator>
#include <string>

#include "hippo/checkpoint/object_store/object_client.hpp"

namespace {

int fail(const std::string& why) {
  std::cerr << why << '\n';
  return 1;
}

} // namespace

int main(int argc, char** argv) {
  using namespace hippo;
  if (argc < 6)
    return fail("too few arguments");
  const auto where = parse_s3_url(argv[1], argv[2], "");
  if (!where)
    return fail(where.failure().message);
  object_client_options options;
  options.part_bytes = std::stoull(argv[3]);
  options.silence_max = std::chrono::seconds{std::stol(argv[4])};
  options.pause_first = std::chrono::milliseconds{10};
  options.pause_last = std::chrono::milliseconds{100};
  object_client client{*where, options};
  const std::string command = argv[5];
  const std::string name = argc > 6 ? argv[6] : "";
  if (command == "put") {
    const memory_source bytes{{std::istreambuf_iterator<char>{std::cin}, {}}};
    if (const auto why = client.put(name, bytes))
      return fail(why->message);
    return 0;
  }
  if (command == "get") {
    const auto bytes = client.get_range(name, 0, 1 << 30);
    if (!bytes)
      return fail(bytes.failure().message);
    if (!*bytes)
      return fail("missing");
    std::fwrite((*bytes)->data(), 1, (*bytes)->size(), stdout);
    return 0;
  }
  if (command == "list") {
    const auto found = client.list(name);
    if (!found)
      return fail(found.failure().message);
    for (const auto& x : *found)
      std::cout << x.key << ' ' << x.bytes << ' '
                << (x.changed ? "dated" : "undated") << '\n';
    return 0;
  }
  if (command == "remove") {
    if (const auto why = client.remove(name))
      return fail(why->message);
    return 0;
  }
  return fail("there is no command " + command);
}
