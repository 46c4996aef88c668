#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace hippo {

/// A configuration's text, `name=form;name=form`, taken apart.
using config_entries = std::map<std::string, std::string>;
config_entries parse_config(std::string_view config);

/// Returns a form for people: numbers with 4 significant digits, without the
/// step at which its phase begins.
std::string short_form(std::string_view form);

/// Returns what `entries` has and `other` has not, or has otherwise, as
/// `lr 0.01`; in the order of names.
std::vector<std::string> changes(const config_entries& other,
                                 const config_entries& entries);

} // namespace hippo
