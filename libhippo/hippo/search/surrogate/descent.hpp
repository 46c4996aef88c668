#pragma once

#include <exception>

#include <Eigen/Core>
#include <LBFGS.h>

namespace hippo {

/// Minimises a smooth function by at most 30 iterations of L-BFGS. The function
/// keeps the least of its values itself: where a line search finds nothing
/// better, the descent ends without a result.
/// @param function takes a point, and a gradient to set; returns the value
/// @param begin where the descent begins
template <class Function>
void descend(Function& function, Eigen::VectorXd begin) {
  LBFGSpp::LBFGSParam<double> options;
  options.max_iterations = 30;
  options.epsilon = options.epsilon_rel = 1e-3;
  options.past = 1;
  options.delta = 1e-5;
  // Without the second of Wolfe's conditions a step may leave L-BFGS with a
  // direction in which the function rises.
  options.linesearch = LBFGSpp::LBFGS_LINESEARCH_BACKTRACKING_WOLFE;
  LBFGSpp::LBFGSSolver<double, LBFGSpp::LineSearchBracketing> solver{options};
  double reached = 0;
  try {
    solver.minimize(function, begin, reached);
  } catch (const std::exception&) {
    // The least value so far counts.
  }
}

} // namespace hippo
