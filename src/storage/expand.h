// Patterns in names: train-{000..146}.tar, {train,val}.tar, train-*.tar.
//
// Braces come first, as in a shell: {a,b} lists, {000..146} counts (down, too; leading zeros give
// the width), and they may be nested. What then has *, ? or [...] is matched against the file
// system; matches come in byte-wise order. Everything else is taken as it is, also if there is no
// such file. In URLs only braces are expanded. A name that exists as it is written is never taken
// for a pattern.
#pragma once

#include <string>
#include <vector>

#include "penstock/error.h"

namespace penstock::storage {

// Fails with not_found if a pattern matches nothing, with invalid_argument if braces give more than
// a million names.
Result<std::vector<std::string>> expand(const std::string& pattern);

// All of them, one after the other.
Result<std::vector<std::string>> expand(const std::vector<std::string>& patterns);

}  // namespace penstock::storage
