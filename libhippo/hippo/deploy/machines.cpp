#include "hippo/deploy/machines.hpp"

#include <algorithm>
#include <cctype>
#include <limits>
#include <set>
#include <utility>

#include "hippo/model/workload_spec.hpp"
#include "hippo/space/value_reader.hpp"
#include "hippo/yaml/diagnostic.hpp"
#include "hippo/yaml/document.hpp"

namespace hippo {

namespace {

using kind = document::kind;

constexpr unsigned count_limit = 10'000;
constexpr unsigned gpus_max = 16;
constexpr unsigned cpus_max = 1024;
constexpr unsigned notice_seconds_min = 10;
constexpr unsigned notice_seconds_max = 86'400;
constexpr std::size_t name_chars_max = 40;
constexpr std::size_t word_chars_max = 512;

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return is_lower(c) || (c >= 'A' && c <= 'Z'); }

bool consists_of(const std::string& x, const std::string& others) {
  return !x.empty() && x.size() <= word_chars_max
         && std::ranges::all_of(x, [&](char c) {
              return is_letter(c) || is_digit(c)
                     || others.find(c) != std::string::npos;
            });
}

/// Whether every name of objects of Kubernetes can be made of it.
bool is_label(const std::string& x) {
  return x.size() <= name_chars_max && consists_of(x, "-") && is_lower(x[0])
         && x.back() != '-' && std::ranges::none_of(x, [](char c) {
              return c >= 'A' && c <= 'Z';
            });
}

bool is_path(const std::string& x) {
  return consists_of(x, "/._+-") && x[0] != '-';
}

/// Whether it is found wherever the command is typed.
bool is_program(const std::string& x) {
  return is_path(x) && (x[0] == '/' || x.find('/') == std::string::npos);
}

bool is_host(const std::string& x) {
  return consists_of(x, "._@:-") && x[0] != '-';
}

bool is_image(const std::string& x) {
  return consists_of(x, "/._:@-") && x[0] != '-';
}

bool is_label_key(const std::string& x) {
  return consists_of(x, "/._-") && (is_letter(x[0]) || is_digit(x[0]));
}

bool is_label_value(const std::string& x) {
  return consists_of(x, "._-") && x[0] != '-' && x.back() != '-';
}

bool is_address(const std::string& x) {
  return (x.starts_with("http://") || x.starts_with("https://"))
         && consists_of(x, "/._:-");
}

/// Whether it is a whole number with a binary unit, above 0.
bool is_quantity(const std::string& x) {
  const auto digits = std::ranges::find_if_not(x, is_digit) - x.begin();
  const auto unit = x.substr(static_cast<std::size_t>(digits));
  return digits >= 1 && digits <= 9 && x[0] != '0'
         && (unit == "Mi" || unit == "Gi" || unit == "Ti");
}

/// Whether Slurm takes it for a time: `[DAYS-]HOURS:MINUTES:SECONDS`.
bool is_time(const std::string& x) {
  const auto dash = x.find('-');
  const auto days = dash == std::string::npos ? "0" : x.substr(0, dash);
  const auto clock = dash == std::string::npos ? x : x.substr(dash + 1);
  std::size_t colons = 0, digits = 0;
  for (const auto c : clock) {
    if (c != ':' && !is_digit(c))
      return false;
    digits = c == ':' ? 0 : digits + 1;
    if (digits > 3)
      return false;
    colons += c == ':' ? 1 : 0;
  }
  return colons == 2 && digits == 2 && !days.empty() && days.size() <= 3
         && std::ranges::all_of(days, is_digit) && is_digit(clock[0])
         && clock.find("::") == std::string::npos;
}

bool is_sbatch_option(const std::string& x) {
  return x.starts_with("--") && consists_of(x, "-=:,._/[]%@+")
         && is_letter(x.size() > 2 ? x[2] : '-');
}

/// The keys that only one target's files have.
std::vector<std::string> group_keys(deploy_target target) {
  std::vector<std::string> result{"name",           "count",  "gpus",  "cpus",
                                  "notice_seconds", "python", "ranks", "gangs"};
  const auto add = [&](std::initializer_list<const char*> xs) {
    result.insert(result.end(), xs.begin(), xs.end());
  };
  if (target == deploy_target::slurm)
    add({"memory", "program", "time", "partition", "sbatch", "count_max"});
  else if (target == deploy_target::kubernetes)
    add({"memory", "image", "count_max", "nodes", "tolerate", "queue"});
  else if (target == deploy_target::ray)
    add({"memory", "program", "key", "count_max"});
  else
    add({"program", "hosts"});
  return result;
}

class machines_reader : value_reader {
public:
  machines_reader(const document& root, diagnostics& notes,
                  deploy_target target)
    : value_reader(notes), root_(&root), notes_(&notes) {
    result_.target = target;
  }

  machines read() {
    const bool in_pods = result_.target == deploy_target::kubernetes;
    std::vector<std::string> known{"service", "keys", "insecure", "trainers"};
    if (in_pods)
      known.emplace_back("prometheus");
    known_keys(*root_, "key", known);
    if (const auto* x = required(*root_, "service"))
      in_pods ? read_pod(*x) : read_service(*x);
    read_keys();
    take(*root_, "prometheus", is_address,
         "must be an address such as http://prometheus:9090",
         result_.prometheus);
    if (const auto* x = required(*root_, "trainers"))
      read_trainers(*x);
    check_scaling();
    return std::move(result_);
  }

private:
  using test = bool (*)(const std::string&);

  // -- values ----------------------------------------------------------------

  /// Reads a word, if it passes `accepts`.
  /// @param wanted says what it must be
  std::optional<std::string> word_that(const document& x, test accepts,
                                       const std::string& wanted) {
    if (x.type == kind::leaf && accepts(x.text))
      return x.text;
    notes_->error(x, wanted + ", found " + x.found());
    return {};
  }

  void take(const document& x, const std::string& key, test accepts,
            const std::string& wanted, std::string& out) {
    if (const auto* found = x.find(key))
      out = word_that(*found, accepts, wanted).value_or(out);
  }

  void take(const document& x, const std::string& key, unsigned least,
            unsigned most, unsigned& out) {
    if (const auto* found = x.find(key))
      out = static_cast<unsigned>(whole(*found, least, most).value_or(out));
  }

  std::vector<std::string> words_that(const document& x, test accepts,
                                      const std::string& wanted) {
    std::vector<std::string> result;
    if (x.type != kind::list || x.items.empty()) {
      notes_->error(x, "must be a list that is not empty, found " + x.found());
      return result;
    }
    for (const auto& item : x.items)
      if (auto text = word_that(item, accepts, wanted))
        result.push_back(std::move(*text));
    return result;
  }

  // -- service ---------------------------------------------------------------

  void read_service(const document& x) {
    if (x.type != kind::leaf) {
      notes_->error(x, "must be where trainers connect, HOST:PORT, found "
                         + x.found());
      return;
    }
    auto where = parse_endpoint(x.text);
    if (!where)
      notes_->error(x, where.failure().message);
    else if (!is_host(where->host))
      notes_->error(x, "must be HOST:PORT, found " + x.found());
    else if (is_loopback(*where) || where->host == "0.0.0.0"
             || where->host == "::")
      notes_->error(x, "must be the name by which other machines know this "
                       "one, found "
                         + x.found());
    else
      result_.service = std::move(*where);
  }

  void read_pod(const document& x) {
    if (!is_map(x, "image, storage"))
      return;
    known_keys(x, "key",
               {"image", "storage", "storage_class", "cpus", "memory"});
    auto& out = result_.pod;
    required(x, "image");
    take(x, "image", is_image, "must be an image such as hippo:1", out.image);
    required(x, "storage");
    take_quantity(x, "storage", out.storage);
    take(x, "storage_class", is_label_key,
         "must be the name of a storage class", out.storage_class);
    take(x, "cpus", 1, cpus_max, out.cpus);
    take_quantity(x, "memory", out.memory);
  }

  void take_quantity(const document& x, const std::string& key,
                     std::string& out) {
    take(x, key, is_quantity,
         "must be a whole number with a unit of Mi, Gi or Ti, such as 16Gi",
         out);
  }

  void read_keys() {
    take(*root_, "keys", is_path,
         "must be the folder of `hippo keys`, of letters, digits and /._+-",
         result_.keys);
    const auto* x = root_->find("insecure");
    if (x == nullptr)
      return;
    const bool insecure = truth(*x).value_or(false);
    if (insecure && root_->find("keys") != nullptr)
      notes_->error(*x, "is true, and there are keys: give one of the two");
    else if (insecure)
      result_.keys.clear();
  }

  // -- trainers --------------------------------------------------------------

  void read_trainers(const document& x) {
    if (x.type != kind::list || x.items.empty()) {
      notes_->error(x, "must be a list of trainers that are alike, found "
                         + x.found());
      return;
    }
    std::set<std::string> names;
    for (const auto& item : x.items) {
      if (!is_map(item, "name, count and so on"))
        continue;
      auto group = read_group(item);
      if (!group.name.empty() && !names.insert(group.name).second)
        notes_->error(*item.find("name"), "'" + group.name
                                            + "' is the name of others "
                                              "already");
      result_.trainers.push_back(std::move(group));
    }
  }

  trainer_group read_group(const document& x) {
    trainer_group result;
    known_keys(x, "key", group_keys(result_.target));
    required(x, "name");
    take(x, "name", is_label,
         "must be at most 40 lower-case letters, digits and hyphens that "
         "begin with a letter",
         result.name);
    const bool in_pods = result_.target == deploy_target::kubernetes;
    take(x, "count", in_pods ? 0 : 1, count_limit, result.count);
    if (x.find("count_max") != nullptr) {
      result.count_max = std::max(result.count, 1u);
      take(x, "count_max", *result.count_max, count_limit, *result.count_max);
    }
    take(x, "gpus", 0, gpus_max, result.gpus);
    take(x, "cpus", 1, cpus_max, result.cpus);
    take(x, "ranks", 1, ranks_max, result.ranks);
    check_ranks(x, result);
    if (const auto* gangs = x.find("gangs"))
      result.gangs = truth(*gangs).value_or(true);
    take_quantity(x, "memory", result.memory);
    take(x, "notice_seconds", notice_seconds_min, notice_seconds_max,
         result.notice_seconds);
    take_path(x, "python", result.python);
    take_path(x, "program", result.program);
    if (result_.target == deploy_target::slurm)
      read_job(x, result);
    else if (in_pods)
      read_pods(x, result);
    else if (result_.target == deploy_target::ray)
      take_path(x, "key", result.key);
    else if (const auto* hosts = required(x, "hosts"))
      result.hosts =
        words_that(*hosts, is_host, "must be a host, as ssh takes it");
    check_count(x, result);
    return result;
  }

  void check_ranks(const document& x, const trainer_group& group) {
    if (group.gpus > 0 && group.gpus % group.ranks != 0)
      notes_->error(*x.find("ranks"), std::to_string(group.gpus)
                                        + " GPUs cannot be divided into "
                                          "trainers of "
                                        + std::to_string(group.ranks)
                                        + " each");
  }

  void take_path(const document& x, const std::string& key, std::string& out) {
    take(x, key, is_program,
         "must be the name of a program or its whole path, of letters, digits "
         "and /._+-",
         out);
  }

  void read_job(const document& x, trainer_group& out) {
    take(x, "time", is_time,
         "must be HOURS:MINUTES:SECONDS or "
         "DAYS-HOURS:MINUTES:SECONDS",
         out.time);
    take(x, "partition", is_label_value, "must be the name of a partition",
         out.partition);
    if (const auto* options = x.find("sbatch"))
      out.sbatch =
        words_that(*options, is_sbatch_option,
                   "must be an option of sbatch such as --account=lab");
  }

  void read_pods(const document& x, trainer_group& out) {
    required(x, "image");
    take(x, "image", is_image, "must be an image such as hippo-trainer:1",
         out.image);
    take(x, "queue", is_label_value, "must be the name of a queue of Kueue",
         out.queue);
    if (const auto* nodes = x.find("nodes"); nodes && is_map(*nodes, "labels"))
      for (const auto& entry : nodes->entries)
        read_node_label(entry, out.nodes);
    if (const auto* taints = x.find("tolerate"))
      out.tolerate = words_that(*taints, is_label_key,
                                "must be the key of a taint such as "
                                "nvidia.com/gpu");
  }

  void read_node_label(const document::entry& entry,
                       std::map<std::string, std::string>& out) {
    if (!is_label_key(entry.key))
      notes_->error(entry.where, entry.value.path,
                    "must be the key of a label, found '" + entry.key + "'");
    else if (auto value = word_that(entry.value, is_label_value,
                                    "must be the value of a label"))
      out.emplace(entry.key, std::move(*value));
  }

  void check_count(const document& x, const trainer_group& group) {
    if (group.count == 0 && !group.count_max && x.find("count") != nullptr)
      notes_->error(*x.find("count"),
                    "is 0, and without 'count_max' it stays so");
    if (result_.target == deploy_target::ssh && group.gpus > 0
        && group.count > 1)
      notes_->error(*x.find("count"),
                    "is more than 1: one process has all GPUs of its host");
  }

  /// An autoscaler cannot divide what waits among groups; `hippo scale` can.
  void check_scaling() {
    const auto scaled = std::ranges::count_if(
      result_.trainers, [](const auto& x) { return x.count_max.has_value(); });
    if (scaled > 1 && root_->find("prometheus") != nullptr)
      notes_->error(*root_->find("trainers"),
                    "'count_max' of more than one: what waits for trainers is "
                    "one number, and each would follow all of it; without "
                    "'prometheus' hippo scale divides it");
  }

  const document* root_;
  diagnostics* notes_;
  machines result_;
};

} // namespace

machines_file read_machines(const std::string& text, const std::string& name,
                            deploy_target target) {
  findings noted;
  diagnostics notes{name, noted};
  machines_file result;
  if (const auto root = read_document(text, notes, "list of machines")) {
    auto found = machines_reader{*root, notes, target}.read();
    if (noted.errors.empty())
      result.found = std::move(found);
  }
  result.errors = std::move(noted.errors);
  return result;
}

} // namespace hippo
