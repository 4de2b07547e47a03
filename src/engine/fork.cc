#include "engine/fork.h"

namespace penstock::engine {

Error forked() {
  return Error(Code::unsupported,
               "this pipeline belongs to the parent process: threads do not survive fork(); build "
               "a new pipeline in the child");
}

}  // namespace penstock::engine
