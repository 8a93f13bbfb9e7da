#include <cstdio>

#include "greeter.h"

#define WARP_SIZE 32

GREETER_API int greeter_greet(const char* name, char* text, int size) {
    int count = 0;
    const cudaError_t error = cudaGetDeviceCount(&count);
    if (error == cudaSuccess) {
        std::snprintf(text, size, WORDS_HELLO " %s, from %d device%s", name, count, count == 1 ? "" : "s");
    }
    return static_cast<int>(error);
}

GREETER_API int greeter_wave_size(int* lanes) {
    *lanes = WARP_SIZE;
    return 0;
}

GREETER_API int greeter_runtime_version(int* major, int* minor) {
    int version = 0;
    const cudaError_t error = cudaRuntimeGetVersion(&version);
    *major = version / 1000;
    *minor = version % 1000 / 10;
    return static_cast<int>(error);
}
