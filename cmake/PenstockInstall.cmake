# `cmake --install`: headers, library and a package config for find_package(penstock).
#
# The library is static, so its private dependencies must be found again by whoever links it. They
# are read off the target: a room that links Foo::foo or PkgConfig::FOO has nothing more to write.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

get_target_property(linked penstock LINK_LIBRARIES)
set(dependencies "")
foreach(library ${linked})
  if(library MATCHES "^PkgConfig::(.+)$")
    set(prefix ${CMAKE_MATCH_1})
    list(APPEND dependencies "find_dependency(PkgConfig)"
      "pkg_check_modules(${prefix} REQUIRED IMPORTED_TARGET ${${prefix}_MODULE_NAME})")
  elseif(library MATCHES "^([A-Za-z0-9_]+)::[A-Za-z0-9_]+$")
    list(APPEND dependencies "find_dependency(${CMAKE_MATCH_1})")
  endif()
endforeach()
list(REMOVE_DUPLICATES dependencies)
list(JOIN dependencies "\n" dependencies)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/penstock)
configure_file(${CMAKE_CURRENT_LIST_DIR}/penstockConfig.cmake.in penstockConfig.cmake @ONLY)
write_basic_package_version_file(penstockConfigVersion.cmake COMPATIBILITY SameMinorVersion)

install(TARGETS penstock EXPORT penstock)
install(DIRECTORY include/penstock DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT penstock NAMESPACE penstock:: FILE penstockTargets.cmake DESTINATION ${package_dir})
install(
  FILES ${CMAKE_CURRENT_BINARY_DIR}/penstockConfig.cmake
        ${CMAKE_CURRENT_BINARY_DIR}/penstockConfigVersion.cmake
  DESTINATION ${package_dir})
