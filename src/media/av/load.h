// Finding libpenstock_av, the shared library that FFmpeg is used by.
#pragma once

#include "media/av/av.h"

namespace penstock::media::av {

// Loads it when it is first asked for; it stays. Error (unsupported): it was not built, or FFmpeg's
// libraries are missing; the message says what to install. Any thread.
Result<Library*> library();

}  // namespace penstock::media::av
