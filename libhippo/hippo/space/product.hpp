#pragma once

#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "hippo/space/space_node.hpp"
#include "hippo/yaml/diagnostic.hpp"

namespace hippo {

// `product: [a, b]`: a value made of others of the same trial, which it names:
// a hyper-parameter (`lr`), or a number in the sequence of one
// (`lr.linear.from`). What a trial has of it is a number.

/// The most hyper-parameters that may be made so, and the most of them of
/// which one may follow, one of the other.
inline constexpr std::size_t products_max = 256;
inline constexpr std::size_t products_in_a_row_max = 64;

/// Whether any value in `node` is a product, those that its choices bring among
/// them.
bool has_products(const space_node& node);

/// The same without what its choices bring.
bool is_made_of_others(const space_node& node);

/// Finds what each name in a product stands for, so that `resolve_products`
/// finds it in every trial.
/// @returns whether all could be; else errors are noted
bool bind_products(space_node& root, diagnostics& notes);

/// Returns what stands for a product in a trial until its values are known.
nlohmann::ordered_json unresolved_product(nlohmann::ordered_json factors);

/// Returns a value with unresolved products as a study file writes it.
nlohmann::ordered_json as_written(nlohmann::ordered_json document);

/// Puts numbers where products are, in all values of a trial.
/// REQUIRES: it is of a space that `bind_products` has bound.
void resolve_products(nlohmann::ordered_json& trial);

/// Says why other values than those of a space cannot stand for one of its
/// hyper-parameters, if its products name that one in a way that they do not
/// know.
/// @param others the space of these values
std::optional<std::string> refusal_of(const std::string& name,
                                      const space_node& others,
                                      const space_node& root);

/// Returns the part of a space that decides a hyper-parameter made of others:
/// itself, those that it names, and those that bring any of these.
/// REQUIRES: `bind_products` has bound the space; it has that name.
space_node part_that_makes(const std::string& name, const space_node& root);

} // namespace hippo
