/* What the libraries of the sample's SDK share. None of them uses a C library, so that they load wherever their own kind does. */
#pragma once

#ifdef _WIN32
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif
