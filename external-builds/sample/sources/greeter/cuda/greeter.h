#pragma once

#include <cuda_runtime.h>

#include "../words/words.h"

#if defined(_WIN32)
#define GREETER_API extern "C" __declspec(dllexport)
#else
#define GREETER_API extern "C" __attribute__((visibility("default")))
#endif
