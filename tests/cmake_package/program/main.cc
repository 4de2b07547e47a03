// A user's program, built outside of the project's tree. The README shows the part below.
#include <iostream>
#include <string>

#include "penstock/error.h"

penstock::Result<int> label_of(const std::string& record) {
  if (record.empty()) return penstock::Error(penstock::Code::corrupt, "the label is missing");
  return record.front() - '0';
}

int main() {
  const auto label = label_of("");
  if (!label) std::cout << label.error().to_string() << "\n";  // corrupt: the label is missing
  return label_of("7").value() == 7 && !label ? 0 : 1;
}
