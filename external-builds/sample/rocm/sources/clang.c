/* The sample's clang: it hands over to this machine's C or C++ compiler; which of them, its own name tells, as with the real one. */
#include <stdio.h>
#include <string.h>
#ifdef _WIN32
#include <process.h>
#define execvp(program, words) _spawnvp(_P_WAIT, program, words)
#else
#include <unistd.h>
#endif

int main(int count, char **words) {
    size_t length = strlen(words[0]);
    if (length > 4 && !strcmp(words[0] + length - 4, ".exe")) length -= 4;
    int cxx = length >= 2 && !strncmp(words[0] + length - 2, "++", 2);
    if (count == 2 && !strcmp(words[1], "--version")) {
        printf("AMD clang version 20.0.0 (a stand-in for the host), %s driver\n", cxx ? "C++" : "C");
        return 0;
    }
    words[0] = cxx ? "c++" : "cc";
    int status = (int)execvp(words[0], words);
    if (status < 0) {
        fprintf(stderr, "clang: error: there is no %s on PATH\n", words[0]);
        return 127;
    }
    return status;
}
