#pragma once

#define WORDS_HELLO "hello"
#define WORDS_GOODBYE "goodbye"
