#include "sdk.h"

#define JOIN(first, second) first##second
#define GET_VERSION(name) JOIN(name, _get_version)

int hipRuntimeGetVersion(int *version);

/* A math library as its loading shows it: it tells the version of the HIP runtime that it has found. */
EXPORT int GET_VERSION(NAME)(int *version) { return hipRuntimeGetVersion(version); }
