#include "sdk.h"

#ifdef _WIN32
static int hsa_init(void) { return 0x1008; }
#else
int hsa_init(void);
#endif
void amd_comgr_get_version(unsigned long long *major, unsigned long long *minor);

/* All is well when the runtime below answers as on a machine without a GPU, and the compiler library is the one it was made with. */
EXPORT int hipRuntimeGetVersion(int *version) {
    unsigned long long major, minor;
    amd_comgr_get_version(&major, &minor);
    *version = 7 * 10000000 + 10 * 100000;
    return hsa_init() == 0x1008 && major == 3 ? 0 : 1;
}

EXPORT int hipDriverGetVersion(int *version) { return hipRuntimeGetVersion(version); }
