# Third-party libraries, each found once.

find_package(Threads REQUIRED)
find_package(CapnProto REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(spdlog REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(CLI11 REQUIRED)
find_package(Boost REQUIRED) # headers alone
find_package(ZLIB REQUIRED)
find_package(CURL REQUIRED)
if(HIPPO_TESTS)
  find_package(GTest REQUIRED)
  include(GoogleTest)
endif()

find_path(XXHASH_INCLUDE_DIR xxhash.h REQUIRED)
add_library(hippo_xxhash INTERFACE)
target_include_directories(hippo_xxhash SYSTEM INTERFACE ${XXHASH_INCLUDE_DIR})

# Linear algebra, and L-BFGS on it; both headers alone.
find_package(Eigen3 REQUIRED)
find_path(LBFGSPP_INCLUDE_DIR LBFGS.h REQUIRED)
add_library(hippo_eigen INTERFACE)
target_include_directories(hippo_eigen SYSTEM INTERFACE ${LBFGSPP_INCLUDE_DIR})
target_link_libraries(hippo_eigen INTERFACE Eigen3::Eigen)

# Debian's libcaf-dev has no CMake package: make the target by hand.
find_path(CAF_INCLUDE_DIR caf/all.hpp REQUIRED)
find_library(CAF_CORE_LIB caf_core REQUIRED)
add_library(hippo_caf INTERFACE)
target_include_directories(hippo_caf SYSTEM INTERFACE ${CAF_INCLUDE_DIR})
target_link_libraries(hippo_caf INTERFACE
  ${CAF_CORE_LIB} Threads::Threads)

# Makes the target `name` of a library that has no CMake package.
function(hippo_find_library name header library)
  string(TOUPPER ${library} prefix)
  find_path(${prefix}_INCLUDE_DIR ${header} REQUIRED)
  find_library(${prefix}_LIB ${library} REQUIRED)
  add_library(${name} INTERFACE)
  target_include_directories(${name} SYSTEM INTERFACE ${${prefix}_INCLUDE_DIR})
  target_link_libraries(${name} INTERFACE ${${prefix}_LIB})
endfunction()

if(HIPPO_TORCH)
  include(HippoTorch)
endif()
