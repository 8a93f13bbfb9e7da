#pragma once

#define WORDS_HELLO "hello"
