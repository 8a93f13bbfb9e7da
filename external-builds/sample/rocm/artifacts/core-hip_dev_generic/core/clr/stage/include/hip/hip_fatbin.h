// The device code of a source file, where HIP's runtime looks for it: the section .hip_fatbin holds a bundle with an entry for the
// host and one for each target, and .hipFatBinSegment leads to it. The driver gives the bundle as pages of 64-bit words; what it
// leaves out is zero.
#pragma once

#if defined(__HIP_FATBIN__) && defined(__ELF__)
namespace {

__attribute__((section(".hip_fatbin"), aligned(4096), used)) const unsigned long long hip_fatbin[][512] = {__HIP_FATBIN__};

struct hip_fatbin_wrapper {
    unsigned magic, version;
    const void* binary;
    const void* unused;
};

__attribute__((section(".hipFatBinSegment"), aligned(8), used)) hip_fatbin_wrapper hip_fatbin_segment = {
    0x48495046, 1, hip_fatbin, nullptr};

}  // namespace
#endif
