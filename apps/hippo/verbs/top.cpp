#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <iostream>
#include <memory>
#include <string>
#include <thread>

#include "client_listings.hpp"
#include "hippo/report/progress.hpp"
#include "hippo/report/text.hpp"
#include "terminal.hpp"
#include "verbs/client_options.hpp"
#include "verbs/verbs.hpp"

namespace hippo {

namespace {

/// How often the table is drawn again.
constexpr auto redraw_interval = std::chrono::seconds{1};

struct top_arguments {
  service_address server;
  listing_options listing;
  bool all = false;
  bool once = false;
};

/// Says below a table why trainers are held up: a column would cut it.
std::string held_up_lines(const std::vector<trainer_view>& trainers) {
  std::string result;
  for (const auto& x : trainers)
    if (!x.held_up.empty())
      result += "trainer " + std::to_string(x.trainer) + " (" + x.name + ") "
                + x.held_up + '\n';
  return result;
}

int top(top_arguments& x, client& service) {
  live_display display{std::cout};
  const bool live
    = !x.once && x.listing.format == "table" && is_terminal(STDOUT_FILENO);
  for (;;) {
    const auto trainers = service.trainers();
    if (!trainers)
      return refuse(trainers.failure());
    const auto shown = list_trainers(*trainers, x.all);
    const auto below = held_up_lines(*trainers);
    if (!live) {
      const auto code = x.listing.print(shown);
      if (code == exit_done && x.listing.format == "table")
        std::cout << below;
      return code;
    }
    auto text = x.listing.render(shown);
    if (!text)
      return refuse(text.failure());
    *text += below;
    const auto rows = size_of_terminal(STDOUT_FILENO).rows;
    display.show(cut_lines(*text, std::max<std::size_t>(rows, 3) - 1));
    std::this_thread::sleep_for(redraw_interval);
  }
}

} // namespace

void add_top(verb_table& verbs) {
  const auto x = std::make_shared<top_arguments>();
  auto* verb = verbs.add(
    service_group, "top", "Show what the trainers do",
    "hippo top --filter state=busy", [x] {
      return with_service(x->server,
                          [&](client& service) { return top(*x, service); });
    });
  verb->add_flag("--all", x->all, "Those that have left as well");
  verb->add_flag("--once", x->once, "Do not show it again and again");
  x->listing.add_to(*verb);
  x->server.add_to(*verb);
}

} // namespace hippo
